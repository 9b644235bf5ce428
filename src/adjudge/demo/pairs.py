"""The demo's pairs: short questions whose right answer anybody can check.

Four kinds: facts, arithmetic, formats (was the instruction followed?) and relevance (does the
answer belong to the question?). No pair was chosen or dropped because of the embedded model's
verdict. Facts and sums are answered in full sentences, as assistants answer. With one-word answers
("Paris") the likelihood protocol is right much less often.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from adjudge.records import Pair
from adjudge.validation import Seed, generator

#: question, answer with [the right/the wrong] word.
_FACTS = """
What is the capital of France? | The capital of France is [Paris/Madrid].
What is the capital of Japan? | The capital of Japan is [Tokyo/Seoul].
What is the capital of Italy? | The capital of Italy is [Rome/Athens].
What is the capital of Egypt? | The capital of Egypt is [Cairo/Lagos].
What is the capital of Canada? | The capital of Canada is [Ottawa/Toronto].
What is the capital of Australia? | The capital of Australia is [Canberra/Sydney].
What is the capital of Turkey? | The capital of Turkey is [Ankara/Istanbul].
What is the capital of Norway? | The capital of Norway is [Oslo/Helsinki].
What is the capital of Peru? | The capital of Peru is [Lima/Quito].
What is the capital of Kenya? | The capital of Kenya is [Nairobi/Accra].
Which planet is closest to the Sun? | The planet closest to the Sun is [Mercury/Neptune].
Which planet is the largest in our solar system? | The largest planet is [Jupiter/Mars].
What gas do plants take in from the air? | Plants take in [carbon dioxide/helium] from the air.
What is the chemical symbol for gold? | The chemical symbol for gold is [Au/Ag].
What is the chemical symbol for iron? | The chemical symbol for iron is [Fe/Ir].
What is H2O commonly called? | H2O is commonly called [water/salt].
At how many degrees Celsius does water boil? | Water boils at [100/50] degrees Celsius.
How many legs does a spider have? | A spider has [eight/six] legs.
How many legs does an insect have? | An insect has [six/eight] legs.
How many days are there in a leap year? | There are [366/364] days in a leap year.
How many minutes are there in an hour? | There are [60/100] minutes in an hour.
How many continents are there? | There are [seven/twelve] continents.
How many sides does a hexagon have? | A hexagon has [six/nine] sides.
How many strings does a violin have? | A violin has [four/seven] strings.
Who wrote Romeo and Juliet? | [William Shakespeare/Charles Dickens] wrote Romeo and Juliet.
Who painted the Mona Lisa? | [Leonardo da Vinci/Vincent van Gogh] painted the Mona Lisa.
Who wrote Pride and Prejudice? | [Jane Austen/Mark Twain] wrote Pride and Prejudice.
Who developed the theory of general relativity? | It was [Albert Einstein/Isaac Newton].
Who was the first person to walk on the Moon? | It was [Neil Armstrong/Yuri Gagarin].
Who was the first president of the United States? | It was [George Washington/Abraham Lincoln].
In which year did the Second World War end? | The Second World War ended in [1945/1962].
In which year did the Titanic sink? | The Titanic sank in [1912/1985].
Which ocean is the largest? | The largest ocean is [the Pacific Ocean/the Arctic Ocean].
Which is the longest river in South America? | It is [the Amazon/the Danube].
Which mountain is the highest above sea level? | The highest mountain is [Mount Everest/Mount Fuji].
Which country is shaped like a boot? | [Italy/Poland] is shaped like a boot.
In which country are the pyramids of Giza? | The pyramids of Giza are in [Egypt/Brazil].
In which country is the Eiffel Tower? | The Eiffel Tower is in [France/Mexico].
What language is spoken in Brazil? | [Portuguese/Dutch] is spoken in Brazil.
What currency is used in Japan? | Japan uses [the yen/the peso].
What is the freezing point of water in Celsius? | Water freezes at [0 degrees/25 degrees].
What organ pumps blood through the body? | [The heart/The liver] pumps blood through the body.
What is the largest mammal? | The largest mammal is [the blue whale/the grey wolf].
What do bees make? | Bees make [honey/milk].
What is the opposite of hot? | The opposite of hot is [cold/loud].
What is the plural of mouse? | The plural of mouse is [mice/mouses].
What is the past tense of go? | The past tense of go is [went/goed].
What colour do you get by mixing blue and yellow? | Mixing blue and yellow gives [green/red].
Which metal is liquid at room temperature? | [Mercury/Copper] is liquid at room temperature.
What force keeps us on the ground? | [Gravity/Friction] keeps us on the ground.
Which instrument has black and white keys? | [The piano/The drum] has black and white keys.
What is the young of a dog called? | The young of a dog is called [a puppy/a kitten].
What is frozen water called? | Frozen water is called [ice/steam].
Which season comes after winter? | [Spring/Autumn] comes after winter.
What is the square root of 81? | The square root of 81 is [9/8].
"""

#: question, right answer, wrong answer.
_FORMATS = """
Write the word cat in capital letters. | CAT | cat
Write the word river in capital letters. | RIVER | River
Write the word Stone in small letters. | stone | STONE
Answer with yes or no only: is fire hot? | Yes | Fire is usually considered hot.
Answer with yes or no only: can fish swim? | Yes | Most of them can swim very well.
Answer with yes or no only: is the Moon made of cheese? | No | People say that it is cheese.
Answer with one number only: how many days are in a week? | 7 | A week has several days.
Answer with one number only: how many months are in a year? | 12 | There are twelve of them.
Answer in one word: what is the colour of snow? | White | Snow has a white colour.
Answer in one word: what do cows drink? | Water | Cows like to drink water.
List three fruits, separated by commas. | apple, banana, cherry | apple banana cherry
List three colours, separated by commas. | red, green, blue | red green blue
List the first three letters of the alphabet, separated by commas. | a, b, c | abc
List two animals as a numbered list. | 1. Dog\\n2. Cat | Dog and cat
List two cities as a numbered list. | 1. London\\n2. Paris | London and Paris
List two drinks as a list with dashes. | - Tea\\n- Coffee | Tea and coffee
Write 3 May 2021 in the form YYYY-MM-DD. | 2021-05-03 | May 3rd
Write 12 July 1999 in the form YYYY-MM-DD. | 1999-07-12 | 12/7
Write half past two in the afternoon as a 24-hour time. | 14:30 | 2 pm
Write the number five hundred in digits. | 500 | five hundred
Write the number 12 in words. | twelve | 12
Write a JSON object with the key name and the value Ana. | {"name": "Ana"} | name Ana
Write a JSON list with the numbers 1, 2 and 3. | [1, 2, 3] | 1 2 3
Put quotation marks around the word hello. | "hello" | hello
End this sentence with a question mark: Are you here | Are you here? | Are you here.
End this sentence with an exclamation mark: Watch out | Watch out! | Watch out
Write the word sun in bold Markdown. | **sun** | sun
Write Tools as a Markdown heading. | # Tools | Tools
Translate to Spanish: thank you | gracias | thank you
Translate to French: good morning | bonjour | good morning
Translate to German: water | Wasser | water
Reply with the single letter X. | X | The letter is X.
"""

#: question, its answer. The wrong answer is the right answer to another question.
_RELEVANCE = """
How do I boil an egg? | Put it in boiling water for eight minutes.
How can I sleep better? | Go to bed at the same time every night.
How do I make tea? | Pour hot water over the leaves and wait.
How can I learn to swim? | Take lessons at a pool near you.
What should I pack for the beach? | Bring a towel and sunscreen.
How do I fix a flat bicycle tyre? | Patch the tube and pump it up.
How can I save money each month? | Write a budget and spend less on extras.
How do I train a puppy to sit? | Say sit and reward it with a treat.
What is a good way to learn Spanish? | Practise speaking a little every day.
How do I remove a red wine stain? | Blot it and pour salt on it.
How do I grow tomatoes? | Plant them in sun and water them often.
What should I do if I have a cold? | Rest and drink plenty of fluids.
How do I back up my photos? | Copy them to an external drive.
How do I write a good essay? | Start with an outline and a clear thesis.
What is a good gift for a child? | A book or a simple toy.
How do I start running? | Begin with short, slow runs.
How do I bake bread? | Mix flour, water, salt and yeast, then bake.
How can I remember names? | Repeat the name when you hear it.
How do I keep my house warm? | Seal the windows and close the doors.
How do I choose a password? | Make it long and use it only once.
What should I feed a cat? | Give it cat food with plenty of meat.
How do I get to the airport? | Take the train or a taxi.
How do I cook rice? | Simmer it in twice as much water.
How do I clean my glasses? | Use soap, water and a soft cloth.
How can I reduce stress? | Take deep breaths and go for a walk.
What should I wear in the snow? | Wear a warm coat, gloves and boots.
How do I make a paper plane? | Fold the sheet in half and shape the wings.
How do I ask for a raise? | List what you achieved and talk to your boss.
How do I water a cactus? | Only a little, when the soil is dry.
How do I tune a guitar? | Turn the pegs until each string sounds right.
How do I sharpen a knife? | Draw the blade along a whetstone.
How do I play chess? | Move the pieces to trap the other king.
How can I be on time? | Leave ten minutes earlier.
How do I paint a wall? | Cover the floor, then use a roller.
How do I change a light bulb? | Turn off the power and unscrew the old one.
How do I take a good photo? | Keep the light behind you.
"""

_ARITHMETIC = 40
_CHOICE = re.compile(r"\[(.+)/(.+)\]")
_OPERATIONS = ("plus", "minus", "times")


@dataclass(frozen=True, slots=True)
class Checkable:
    """A question with a right and a wrong answer."""

    kind: str
    prompt: str
    right: str
    wrong: str


def _table(text: str) -> Iterator[list[str]]:
    for line in text.strip().splitlines():
        yield [cell.strip().replace("\\n", "\n") for cell in line.split(" | ")]


def _arithmetic() -> Iterator[Checkable]:
    """Sums, differences and products. The wrong answer is close: distance 1 to 10."""
    rng = generator(2024)
    seen: set[str] = set()
    while len(seen) < _ARITHMETIC:
        operation = _OPERATIONS[len(seen) % 3]
        x, y = (int(value) for value in rng.integers(2, 13, size=2))
        if operation == "minus":
            x, y = x + y, x
        prompt = f"What is {x} {operation} {y}?"
        if prompt in seen:
            continue
        seen.add(prompt)
        right = x + y if operation == "plus" else x - y if operation == "minus" else x * y
        away = int(rng.integers(1, 11)) * (1 if rng.random() < 0.5 else -1)
        wrong = right + away if right + away >= 0 else right + abs(away)
        sum_text = f"{x} {operation} {y}"
        yield Checkable("arithmetic", prompt, f"{sum_text} is {right}.", f"{sum_text} is {wrong}.")


def checkables() -> list[Checkable]:
    """Every question once, sorted by kind."""
    entries = [
        Checkable("facts", prompt, _CHOICE.sub(r"\1", answer), _CHOICE.sub(r"\2", answer))
        for prompt, answer in _table(_FACTS)
    ]
    entries += _arithmetic()
    entries += [Checkable("formats", *row) for row in _table(_FORMATS)]
    helpful = list(_table(_RELEVANCE))
    shift = 7  # far enough that a neighbour's answer does not fit by accident
    entries += [
        Checkable("relevance", prompt, answer, helpful[(row + shift) % len(helpful)][1])
        for row, (prompt, answer) in enumerate(helpful)
    ]
    return entries


def demo_pairs(seed: Seed = 0) -> list[Pair]:
    """The pairs in shuffled order; within each kind the right answer is A half of the time.

    >>> pairs = demo_pairs()
    >>> len(pairs) >= 160
    True
    """
    draw = generator(seed)
    entries = checkables()
    label_is_a = np.zeros(len(entries), dtype=bool)
    for kind in dict.fromkeys(entry.kind for entry in entries):
        rows = np.array([row for row, entry in enumerate(entries) if entry.kind == kind])
        label_is_a[draw.permutation(rows)[: len(rows) // 2]] = True
    return [
        Pair(
            id=f"{entries[row].kind}-{row:03d}",
            prompt=entries[row].prompt,
            response_a=entries[row].right if label_is_a[row] else entries[row].wrong,
            response_b=entries[row].wrong if label_is_a[row] else entries[row].right,
            label="A" if label_is_a[row] else "B",
            extra={"kind": entries[row].kind},
        )
        for row in (int(value) for value in draw.permutation(len(entries)))
    ]
