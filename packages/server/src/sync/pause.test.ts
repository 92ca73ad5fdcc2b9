import { expect, test } from 'vitest'
import { ProviderFailure } from '../providers/failure.ts'
import { findPause } from './pause.ts'

const failed = (...given: ConstructorParameters<typeof ProviderFailure>) => new ProviderFailure(...given)
const asked = (seconds: number) => failed('throttled', 'Slow down.', { retryAfterSeconds: seconds })

test.each([
  ['our quota is spent', failed('throttled', 'Spent.', { isBusy: true, retryAfterSeconds: 50 }), 50, 50],
  ['there is no connection to spare', failed('throttled', 'Busy.', { isBusy: true }), null, null],
  ['the provider asks for a pause', asked(30), 30, null],
  ['the provider asks for a long pause', asked(3_600), null, null],
  ['the provider asks to slow down and names no time', failed('throttled', 'Slow down.'), 2, null],
  ['the provider refuses and names no time at all', asked(0), 2, null],
  ['the provider is away', failed('unavailable', 'Away.', { retryAfterSeconds: 30 }), null, null],
  ['something else failed', new TypeError('a bug'), null, null],
])('the seconds to wait over the same connection if %s', (_, error, shared, scarce) => {
  const seconds = [false, true].map(isOneAtATime => findPause(error, { isOneAtATime })?.seconds ?? null)
  expect(seconds).toEqual([shared, scarce])
})
