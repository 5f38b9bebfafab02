"""A line that somebody typed, cut into words as JLine's parser does: blanks part words, quotes and a backslash keep
them.

A quote that is opened inside a word, or a second kind of quote inside quotes, is a letter like any other.
"""

from __future__ import annotations


def split(line: str) -> list[str]:
    words, word, quote, quoted, position = [], "", "", False, 0
    while position < len(line):
        letter = line[position]
        position += 1
        if letter == "\\":
            word += line[position : position + 1]
            position += 1
        elif quote:
            if letter == quote:
                word, quote = word + ("" if quoted else letter), ""
            else:
                word += letter
        elif letter in "'\"":
            quote, quoted = letter, not word
            word += "" if quoted else letter
        elif letter.isspace():
            if word or quoted:
                words.append(word)
            word, quoted = "", False
        else:
            word += letter
    return [*words, word] if word or quoted else words
