"""Statements in other words: what is turned round is sent to review, and what says the same is not."""

from __future__ import annotations

import pytest

from plainly.factcheck.pairs import Facts

CHANGED = {
    "en": [
        ("Season cards are not valid at night.", "At night you can travel with your season card."),
        ("The warden turned down the request.", "The warden said yes."),
        ("Swimming is prohibited in the reservoir.", "People are welcome to swim in the lake."),
        ("Applicants may attach a photograph.", "You have to send us a picture."),
        ("Only members can borrow tools.", "Everyone can borrow tools."),
        ("None of the children was hurt.", "Some of the kids had pain."),
        ("The nurse informed the pharmacist.", "The nurse heard it from the pharmacist."),
        ("You need not book a table.", "You must not book a table."),
    ],
    "de": [
        ("Ein Anspruch auf Verlängerung besteht nicht.", "Sie bekommen mehr Zeit."),
        ("Der Vorstand lehnte den Umbau ab.", "Der Vorstand will umbauen."),
        ("Das Zelten ist hier untersagt.", "Hier dürfen Sie zelten."),
        ("Gäste können ein Foto beifügen.", "Sie müssen uns ein Bild schicken."),
        ("Der Rabatt gilt ausschließlich für Mitglieder.", "Alle zahlen weniger."),
        ("Der Koch verkaufte den Wagen an Weber.", "Der Koch kaufte den Wagen von Weber."),
        ("Mit Ausnahme der Azubis arbeiten alle samstags.", "Alle arbeiten samstags, auch die Azubis."),
    ],
}
SAME = {
    "en": [
        ("Season cards are not valid at night.", "At night you need another ticket. Your card does not count then."),
        ("Swimming is prohibited in the reservoir.", "Do not swim in the lake."),
        (
            "Guests who reacted to any of the ingredients listed on the card must not eat the soup.",
            "Some guests reacted to any of the ingredients listed on the card. They must not eat the soup.",
        ),
        ("Coats must be left at the desk.", "Leave your coat at the desk."),
        ("The new bridge is longer than the old one.", "The old bridge is not as long as the new one."),
        ("The chef sold the van to Weber.", "Weber bought the van from the chef."),
    ],
    "de": [
        ("Ein Anspruch auf Verlängerung besteht nicht.", "Mehr Zeit bekommen Sie nicht."),
        ("Das Formular ist vollständig auszufüllen.", "Füllen Sie alle Felder aus."),
        ("Die Ausstellung ist bis Mai zu sehen.", "Sie können die Bilder bis Mai ansehen."),
        ("Der Koch verkaufte den Wagen an Weber.", "Weber kaufte den Wagen vom Koch."),
        ("Die neue Brücke ist länger als die alte.", "Die alte Brücke ist nicht so lang wie die neue."),
    ],
}


def _outcome(language: str, source: str, output: str) -> str:
    return Facts(model=None, language=language).check([source], [output])[0].outcome


@pytest.mark.parametrize(("language", "pair"), [(code, pair) for code, pairs in CHANGED.items() for pair in pairs])
def test_a_changed_statement_is_sent_to_review(language: str, pair: tuple[str, str]) -> None:
    assert _outcome(language, *pair) == "review"


@pytest.mark.parametrize(("language", "pair"), [(code, pair) for code, pairs in SAME.items() for pair in pairs])
def test_the_same_statement_in_other_words_passes(language: str, pair: tuple[str, str]) -> None:
    assert _outcome(language, *pair) == "pass"
