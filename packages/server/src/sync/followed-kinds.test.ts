import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import { weighAccounts } from '../accounts/weigh-accounts.ts'
import type { HalfKind } from '../accounts/halves/kind.ts'
import { BulkRequest } from './bulk-permits.ts'
import { followKinds, weightOf } from './followed-kinds.ts'
import type { Follower } from './follower.ts'

const followerOf = (kind: HalfKind, weight: number): Follower => ({
  kind,
  begin: () => ({ follow: async () => 'caught_up', [Symbol.asyncDispose]: async () => {} }),
  weight: sql<number>`${sql.lit(weight)}::int`,
  metrics: [],
})

test('a process that follows accounts needs a follower, and one of each kind', () => {
  expect(() => followKinds([])).toThrow('No wing brings a follower')
  expect(() => followKinds([followerOf('mail', 1), followerOf('mail', 1)])).toThrow('Two followers')
})

test('first syncs of one kind leave the permits of another alone', async () => {
  const kinds = followKinds([followerOf('mail', 1), followerOf('calendar', 1)])
  const [mail, calendar] = [kinds.get('mail')!.bulkPermits, kinds.get('calendar')!.bulkPermits]
  const never = new AbortController().signal
  const acquire = (permits: typeof mail) => permits.acquire(new BulkRequest('a tenant'), 1, never)
  while (await acquire(mail));
  expect(await acquire(mail)).toBeNull()
  expect(await acquire(calendar)).not.toBeNull()
})

test('an account weighs what all followers weigh it', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const tenant = await sampleTenant(db)
  const { id } = await sampleAccount(db, tenant.id)
  const weight = weightOf([followerOf('mail', 5), followerOf('calendar', 2)])
  expect(await weighAccounts(db, [id], weight)).toEqual(new Map([[id, 7]]))
})
