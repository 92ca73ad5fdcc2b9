import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'

test('leaves nothing, after a file that did', async () => {
  await sleep(200)
  expect(1).toBe(1)
})
