import { test } from 'vitest'
import { OPEN } from './open-things.ts'

test('leaves a timer, as the list says', () => void OPEN.timer())
