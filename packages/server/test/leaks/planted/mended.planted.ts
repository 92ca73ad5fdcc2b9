import { test } from 'vitest'
import { OPEN } from './open-things.ts'

test('leaves only one of two kinds of the list', () => void OPEN.timer())
