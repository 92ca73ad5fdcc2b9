import { setTimeout } from 'node:timers/promises'
import { test } from 'vitest'
import { isFirstTime } from './is-first-time.ts'

test('is green, beside an error that nobody catches', async () => {
  if (isFirstTime('uncaught-once')) void Promise.reject(new Error('nobody catches this'))
  await setTimeout(1)
})
