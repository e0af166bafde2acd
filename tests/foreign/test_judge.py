"""The judge of the kill tests finds each broken promise."""

import unittest

from real import Judge, Seen


def seen(number: int, *, is_marked: bool = False) -> Seen:
    return Seen(f"remembered (ann): the number {number}", is_marked)


class JudgeTest(unittest.TestCase):
    def faults(self, *texts: Seen) -> list[str]:
        judge = Judge()
        chat = judge.chat("ann")
        chat.asked, chat.seen = [1, 2, 3], list(texts)
        return [fault.split(";")[0] for fault in judge.faults()]

    def test_judge_accepts_one_answer_each_and_marked_copies(self) -> None:
        self.assertEqual(self.faults(seen(1), seen(2), seen(2, is_marked=True), seen(3)), [])

    def test_judge_accepts_a_notice_for_an_answer(self) -> None:
        notice = Seen("I could not confirm that this message arrived: “… the number 2”")
        self.assertEqual(self.faults(seen(1), notice, seen(3)), [])

    def test_judge_accepts_each_kind_of_notice(self) -> None:
        for beginning in (
            "I could not send this message: ",
            "I dropped this message because I crashed 3 times while working on it: ",
            "I dropped what you asked because I crashed 3 times while working on it: “a”, ",
        ):
            notice = Seen(f"{beginning}“… the number 2”")
            self.assertEqual(self.faults(seen(1), notice, seen(3)), [])

    def test_judge_takes_no_other_text_for_a_notice(self) -> None:
        for text in ("the number 2", "I could not answer: the number 2"):
            found = self.faults(seen(1), Seen(text), seen(3))
            self.assertEqual(found, ["ann: lost [2]"])

    def test_judge_finds_a_third_copy_although_it_is_marked(self) -> None:
        copies = [seen(2, is_marked=True)] * 2
        found = self.faults(seen(1), seen(2), *copies, seen(3))
        self.assertEqual(found, ["ann: more than 2 copies [2]"])

    def test_judge_finds_a_lost_answer(self) -> None:
        self.assertEqual(self.faults(seen(1), seen(3)), ["ann: lost [2]"])

    def test_judge_takes_no_longer_number_for_an_answer(self) -> None:
        found = self.faults(seen(1), seen(2), seen(33))
        self.assertEqual(found, ["ann: lost [3]", "ann: answers to questions of others [33]"])

    def test_judge_finds_a_copy_without_a_mark(self) -> None:
        found = self.faults(seen(1), seen(2), seen(3), seen(1))
        self.assertEqual(found, ["ann: doubled without a mark [1]"])

    def test_judge_finds_an_answer_to_somebody_else(self) -> None:
        found = self.faults(seen(1), seen(2), seen(3), seen(7))
        self.assertEqual(found, ["ann: answers to questions of others [7]"])

    def test_judge_finds_another_order(self) -> None:
        self.assertEqual(self.faults(seen(2), seen(1), seen(3)), ["ann: out of order [2, 1, 3]"])


if __name__ == "__main__":
    unittest.main()
