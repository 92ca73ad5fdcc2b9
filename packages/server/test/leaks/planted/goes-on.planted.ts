import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'vitest'

/** A loop that opens a timer again and again, also while later files run. */
async function goOn() {
  for (;;) await sleep(20)
}

test('leaves something that goes on', () => void goOn())
