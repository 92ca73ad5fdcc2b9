import { test } from 'vitest'
import { OPEN } from './open-things.ts'

test('leaves a timer that the list has', () => void OPEN.timer())
