import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_RESTARTS, restartsAfterCrash, WITHIN_MILLISECONDS } from "../../src/server/restartBudget";

test("a server that crashes at once is started again a few times only", () => {
  let restarts: readonly number[] | undefined = [];
  for (let crash = 0; crash < MOST_RESTARTS; crash++) {
    restarts = restartsAfterCrash(restarts, crash);
    assert.ok(restarts);
  }
  assert.equal(restarts.length, MOST_RESTARTS);
  assert.equal(restartsAfterCrash(restarts, MOST_RESTARTS), undefined);
});

test("crashes of long ago do not count", () => {
  const early = Array.from({ length: MOST_RESTARTS }, (_, second) => second * 1000);
  const now = WITHIN_MILLISECONDS + 1500;
  assert.deepEqual(restartsAfterCrash(early, now), [2000, 3000, 4000, now]);
});
