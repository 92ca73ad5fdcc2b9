import { test } from 'vitest'

test('takes its process along', () => process.kill(process.pid, 'SIGKILL'))
