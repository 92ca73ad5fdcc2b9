/** @module-tag postgres-16-in-soak */
import { sql } from 'kysely'
import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { FenceLost } from '../../src/accounts/halves/ownership.ts'
import type { Db } from '../../src/database/pool.ts'
import { purgeDueAccounts } from '../../src/features/accounts/accounts/purge.ts'
import { purgeMail } from '../../src/features/mail/purge.ts'
import { openBlobStore } from '../../src/kit/blobs/blob-store.ts'
import { openFolderObjects } from '../../src/kit/blobs/folder-objects.ts'
import { silentLog } from '../../src/kit/log.ts'
import type { PurgeStep } from '../../src/wing/purge-step.ts'
import { type Random, seeded } from '../seeded.ts'
import { seedsFor } from './disturbance.ts'
import { ACTS, expectAnswer, openWorld, RECOVERIES, STEP } from './half-acts.ts'

const SEEDS = seedsFor(1)
const ACTORS = 10
const ACTS_OF_ACTOR = 25
const NEVER = new AbortController().signal

const purgeSteps = (db: Db): PurgeStep[] => [
  (id, signal) => purgeMail(db, openBlobStore(openFolderObjects('/nonexistent')), id, signal),
]

test.each(SEEDS)(
  'steps, changes, claims and deletions at random never deadlock, and nothing follows a deletion (seed %s)',
  async seed => {
    await using world = await openWorld()
    const { app, accounts } = world
    const actor = async (random: Random) => {
      for (let nth = 0; nth < ACTS_OF_ACTOR; nth++) {
        const act = random.chance(0.2) ? STEP : random.pick(random.chance(0.2) ? RECOVERIES : ACTS)
        try {
          await act(world, random.pick(accounts), random)
        } catch (error) {
          if (!(error instanceof FenceLost)) throw error
        }
      }
    }
    const deleting = async () => {
      for (const { id } of accounts.slice(1)) {
        const before = world.steps
        while (world.steps < before + 5 && !world.hasEnded)
          await new Promise(resolve => setImmediate(resolve))
        await expectAnswer(app.delete(`/v1/accounts/${id}`))
      }
      const purged = accounts.at(-1)!
      await sql`update account set purge_after = now() where id = ${purged.id}`.execute(app.db)
      await purgeDueAccounts({ db: app.db, steps: purgeSteps(app.db), log: silentLog }, NEVER)
    }
    const acting = Promise.all(
      Array.from({ length: ACTORS }, (_, nth) => actor(seeded(`${seed}/${nth}`))),
    ).finally(() => (world.hasEnded = true))
    const [acted, deleted] = await Promise.allSettled([acting, deleting()])
    for (const { reason } of [acted, deleted].filter(result => result.status === 'rejected'))
      throw reason instanceof DatabaseError
        ? new Error(`${reason.code}: ${reason.message}`, { cause: reason })
        : reason

    expect(world.steps).toBeGreaterThan(0)
    const { rows } = await sql<{ account: string; last: string }>`
      select distinct on (account_id) account_id as account, type as last from event
      where account_id = any(${accounts.map(({ id }) => id)}::uuid[]) order by account_id, id desc
    `.execute(app.db)
    const last = new Map(rows.map(row => [row.account, row.last]))
    for (const { id } of accounts.slice(1)) expect(last.get(id)).toBe('account.deleted')
    const { rows: halves } = await sql`
      select from account_half join account on account.id = account_id
      where account_half.owner_instance is distinct from
          case when status = 'active' and deleted_at is null then account.owner_instance end
        or (account_half.owner_instance is not null and account_half.owner_epoch <> account.owner_epoch)
    `.execute(app.db)
    expect(halves).toEqual([])
    const { rows: left } = await sql<{ account_id: string }>`
      select distinct account_id from account_half order by account_id`.execute(app.db)
    expect(left.map(row => row.account_id)).toEqual(
      accounts
        .slice(0, -1)
        .map(({ id }) => id)
        .toSorted(),
    )
  },
)
