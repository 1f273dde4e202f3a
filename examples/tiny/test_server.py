"""`python3 test_server.py`: what must hold however fast it is."""

import server


def test_answer():
    body = server.answer().decode()
    assert body.startswith("the sum is ") and body.endswith("\n"), body
    assert int(body.split()[-1]) == server.WORK * (server.WORK - 1) // 2, body


if __name__ == "__main__":
    test_answer()
    print("1 test passed")
