import { afterAll, test } from 'vitest'
import { openDatabase } from '../../../src/database/pool.ts'
import { DATABASE, OPEN } from './open-things.ts'

const shared = openDatabase({ address: { url: DATABASE }, applicationName: 'planted', connectionsMax: 1 })
afterAll(() => shared[Symbol.asyncDispose]())

test.each(Object.entries(OPEN))('leaves a %s', async (_, open) => void (await open()))
test('leaves an advisory lock', async () => void (await shared.pool.query('select pg_advisory_lock(1)')))
test('uses a shared session, and leaves nothing', async () => void (await shared.pool.query('select 1')))
