/** @module-tag postgres-16-in-soak */
import type { SuppressionReview, SuppressionSource } from '@waxwing/contract/sending/suppressions.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { recordReviews } from '../../src/features/sending/suppressions/record-reviews.ts'
import { recordSuppressed } from '../../src/features/sending/suppressions/record-suppressed.ts'
import { sweepLists } from '../../src/features/sending/suppressions/sweep-lists.ts'
import { newId } from '../../src/kit/ids.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { sampleAccount } from '../sample-rows.ts'
import { type Random, seeded } from '../seeded.ts'
import { seedsFor } from '../sync/disturbance.ts'

const ACTORS = 6
const ACTS = 40
const LISTS = ['a', 'b', 'global'] as const
const SOURCES: readonly SuppressionSource[] = ['unsubscribe', 'bounce', 'reply', 'complaint', 'inactive']

let app: TestApp
beforeAll(async () => {
  app = await openTestApp()
})
afterAll(() => app[Symbol.asyncDispose]())

/** Lists whose counts differ from their entries at one moment. */
async function listWrong(): Promise<unknown[]> {
  const { rows } = await sql`
    select list.id, list.key from suppression_list as list left join suppression_entry as entry on entry.list_key = list.key
    where list.deleted_at is null
    group by list.key
    having (list.unsubscribe, list.bounce, list.api, list.reply, list.complaint, list.inactive) is distinct from (
      count(*) filter (where source = 'unsubscribe')::int, count(*) filter (where source = 'bounce')::int,
      count(*) filter (where source = 'api')::int, count(*) filter (where source = 'reply')::int,
      count(*) filter (where source = 'complaint')::int, count(*) filter (where source = 'inactive')::int)
  `.execute(app.db)
  return rows
}

const addressesOf = (random: Random) =>
  Array.from({ length: random.between(1, 12) }, () => `u${random.between(0, 30)}@example.org`)

test.each(seedsFor(1))(
  'the counts of lists are those of their addresses, whatever is done at the same time (seed %i)',
  async seed => {
    const { tenantId, ...caller } = await app.createTenant(newId())
    const { id: accountId } = await sampleAccount(app.db, tenantId)
    let announced = 0
    const act = async (random: Random) => {
      const listId = random.pick(LISTS)
      const addresses = addressesOf(random)
      const path = `/v1/suppressions/${listId}`
      switch (random.between(0, 6)) {
        case 0: {
          const { status } = await caller.post(`${path}/entries`, { addresses })
          return expect(status).toBe(200)
        }
        case 1: {
          const { status } = await caller.delete(`${path}/entries/${addresses[0]}`)
          return expect([200, 404]).toContain(status)
        }
        case 2: {
          const { status } = await caller.delete(`${path}?withEntries=${random.chance(0.5)}`)
          return expect([200, 400, 404, 409]).toContain(status)
        }
        case 3:
        case 4: {
          const review = { listId, source: 'reply' as const, accountId, messageId: newId(), outboxId: null }
          const given = addresses.map(address => ({
            ...review,
            address,
            probability: 1,
            alternateContacts: [],
          }))
          await inTransaction(app.db, tenantId, unit => recordReviews(unit, given))
          const { body } = await caller.get<{ items: SuppressionReview[] }>('/v1/suppression-reviews?limit=5')
          const { id } = body.items.at(random.between(0, 4)) ?? { id: newId() }
          const answer = await caller.post(`/v1/suppression-reviews/${id}/approve`)
          expect([200, 404]).toContain(answer.status)
          if (answer.body['added'] === true) announced++
          return
        }
        default: {
          const given = addresses.map(address => ({
            listId: random.pick(LISTS),
            address,
            source: random.pick(SOURCES),
            reason: 'x',
            accountId: null,
            outboxId: null,
          }))
          const added = await inTransaction(app.db, tenantId, unit => recordSuppressed(unit, given))
          announced += added.length
        }
      }
    }
    const actors = Array.from({ length: ACTORS }, async (_, actor) => {
      const random = seeded(`${seed}/${actor}`)
      for (let turn = 0; turn < ACTS; turn++) await act(random)
    })
    const ended = Promise.all(actors).then(() => true)
    do expect(await listWrong()).toEqual([])
    while (!(await Promise.race([ended, Promise.resolve(false)])))
    await ended
    expect(await listWrong()).toEqual([])
    await sweepLists(app.db, new AbortController().signal)
    expect(await listWrong()).toEqual([])
    const { rows: orphans } = await sql`
      select from suppression_entry where list_key in (select key from suppression_list where deleted_at is not null)
    `.execute(app.db)
    expect(orphans).toEqual([])
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from event where tenant_id = ${tenantId} and type = 'suppression.created'
    `.execute(app.db)
    expect(rows[0]).toEqual({ count: announced })
  },
)
