"""Detects refusals in many languages.

A reply that cannot be read is `refused` or `unparsed`. The difference matters only for people who
read the counts.
"""

from __future__ import annotations

import re

from adjudge.judges.parsing import without_thinking
from adjudge.records import Status

# Only the beginning of a reply is checked, and only if it could not be read: a verdict that begins
# with an apology is a verdict.
_APOLOGY = (
    r"(?:(?:i['’]?m|i am|we['’]?re|we are)\s+(?:very\s+|really\s+|so\s+)?sorry|sorry|apologies"
    r"|i apologi[sz]e)"
)
_ENGLISH = (
    rf"(?:{_APOLOGY}[,.!]?\s+(?:but\s+)?)?"
    r"(?:(?:i|we)\s*(?:can['’]?t|can\s*not|cannot|won['’]?t|will not|am unable to|['’]m unable to"
    r"|am not able to|['’]m not able to|must decline|have to decline|decline to|refuse to"
    r"|do not feel comfortable|don['’]t feel comfortable|am not comfortable|['’]m not comfortable"
    r"|are unable to)\b"
    r"|(?:as|being) an ai\b.{0,60}?\b(?:can['’]?t|cannot|unable|not able|do not|don['’]t)\b"
    r"|(?:this|your|the) (?:request|content|conversation) (?:violates|was flagged|is against)"
    r"|(?:it|this) (?:would be|is) (?:inappropriate|against my (?:guidelines|policy|policies)))"
)
_OTHERS = (
    # Spanish, French, German, Italian, Portuguese
    r"lo siento,?(?: pero)? no (?:puedo|me es posible)",
    r"no puedo (?:ayudar|evaluar|comparar|hacer|responder|cumplir|continuar)",
    r"(?:je suis )?désolée?,?(?: mais)? je ne (?:peux|suis)",
    r"je ne (?:peux|suis) pas (?:aider|évaluer|comparer|répondre|en mesure)",
    r"(?:es )?tut mir (?:sehr )?leid,?(?: aber)? (?:ich|das|dabei)",
    r"ich kann (?:das|dabei|diese|ihnen|dir|hier)\b.{0,60}?\bnicht",
    r"(?:mi dispiace|spiacente),?(?: ma)? non posso",
    r"(?:desculpe|sinto muito|lamento),?(?: mas)? não posso",
    # Dutch, Polish, Swedish, Turkish, Vietnamese, Indonesian
    r"(?:het spijt me|sorry),?(?: maar)? (?:ik kan|dat kan ik)",
    r"przepraszam,?(?: ale)? nie mogę",
    r"(?:tyvärr|jag är ledsen,?(?: men)?) (?:kan jag|jag kan) inte",
    r"üzgünüm,?(?: ancak| ama)?",
    r"(?:tôi )?(?:rất )?(?:xin lỗi|tiếc),?.{0,40}?không thể",
    r"maaf,?(?: tetapi| namun)? saya tidak (?:bisa|dapat)",
    # Russian, Ukrainian, Arabic, Hindi
    r"(?:извините|простите|к сожалению),?.{0,20}?(?:не могу|не могут|не смогу)",
    r"я не могу (?:помочь|оценить|выполнить|ответить|сравнить)",
    r"(?:вибачте|на жаль),?.{0,20}?не можу",
    r"(?:آسف|أعتذر|عذرا|عذرًا).{0,30}?(?:لا أستطيع|لا يمكنني|لا أقدر)",
    r"(?:मुझे खेद है|क्षमा करें|माफ़ कीजिए).{0,60}?(?:नहीं|असमर्थ)",
    # Chinese, Japanese, Korean
    r"(?:很)?(?:抱歉|对不起|對不起|不好意思)[,,。]?.{0,12}?(?:无法|無法|不能|不可以)",
    r"我(?:无法|無法|不能)(?:提供|帮助|幫助|回答|评|評|比较|比較|满足|滿足|协助|協助)",
    r"(?:申し訳(?:ありません|ございません)|すみません|ごめんなさい).{0,30}?(?:できません|いたしかね|お答え)",
    r"(?:죄송하지만|죄송합니다).{0,40}?(?:수 없|어렵|못)",
)
_REFUSAL = re.compile(
    r"[\s\W]*(?:" + "|".join((_ENGLISH, *_OTHERS)) + ")", re.IGNORECASE | re.DOTALL
)


def looks_refused(text: str) -> bool:
    """Whether the reply begins like a refusal.

    >>> looks_refused("I'm sorry, but I can't help with that."), looks_refused("Sorry, A.")
    (True, False)
    """
    return _REFUSAL.match(without_thinking(text[:20_000])[:400]) is not None


def unread(text: str | None) -> Status:
    """The status of a reply that could not be read: refused or unparsed.

    >>> unread("抱歉,我无法比较这两个回答。"), unread("Both are fine."), unread(None)
    ('refused', 'unparsed', 'unparsed')
    """
    return "refused" if text and looks_refused(text) else "unparsed"
