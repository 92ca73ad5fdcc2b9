import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { Secret } from './secret.ts'

test('a secret prints as [redacted] unless it is revealed', () => {
  const secret = new Secret('hunter2')

  const shown = [
    `${secret}`,
    JSON.stringify({ secret }),
    inspect({ secret }, { showHidden: true }),
    String(secret),
  ]

  expect(shown.join()).not.toContain('hunter2')
  expect(shown.every(text => text.includes('[redacted]'))).toBe(true)
  expect(Object.values(secret)).toEqual([])
  expect(secret.reveal()).toBe('hunter2')
})
