import { expect, test } from 'vitest'

test('is always red', () => expect(1).toBe(2))
