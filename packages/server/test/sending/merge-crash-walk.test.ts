import type { MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { SendPoint } from '../../src/features/sending/outbox/points.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { hurry, type KillableSender, type KillableSending, openKillableSending } from './killable-sending.ts'
import { casesFor } from '../soak.ts'

const opened = useServer(() => openKillableSending())

const ENTRIES = 12

/** Number of entries that the killed process has queued of the merge that was at the moment. */
const ALL: ReadonlyArray<readonly [SendPoint, number]> = [
  ['content_write', 0],
  ['content_written', 0],
  ['accepted', ENTRIES],
  // The last, since its transaction is open until the kill.
  ['accept_commit', 0],
]

const WALK = casesFor(ALL, ([point]) => point !== 'content_write' && point !== 'accepted')

const mergeOf = (subject: string) => ({
  subject,
  text: 'There is news.\n',
  // It is written before the transaction, as all that the messages of a merge share.
  attachments: [{ filename: 'a.bin', content: Buffer.alloc(300_000, subject).toString('base64') }],
  entries: Array.from({ length: ENTRIES }, (_, nth) => ({ to: { address: `reader-${nth}@example.org` } })),
})

async function countQueued({ db }: KillableSending, subject: string): Promise<number> {
  const { rows } = await sql`select from outbox where subject = ${subject}`.execute(db)
  return rows.length
}

test(
  'a merge is queued whole or not at all, and once, wherever it is when the service is killed',
  { timeout: 300_000 },
  async () => {
    const walk = opened()
    const senders = new Map<string, KillableSender>()
    for (const [point] of WALK) senders.set(point, await walk.connect())
    // So that no hand-over is under way when the service is killed.
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const ask = (point: string) =>
      senders
        .get(point)!
        .call<{ items: MergeItem[] }>('mail-merges', { ...mergeOf(point), sendAt }, `merge-${point}`)
    const asked: Array<Promise<unknown>> = []
    for (const [point] of WALK) await walk.holdAt(point, () => void asked.push(ask(point).catch(() => null)))
    await walk.kill()
    expect(await Promise.all(asked)).toEqual(WALK.map(() => null))
    for (const [point, queued] of WALK)
      expect({ point, queued: await countQueued(walk, point) }).toEqual({ point, queued })
    await walk.restart()

    for (const [point] of WALK) {
      const { items } = await ask(point)
      expect(items.map(({ error }) => error)).toEqual(items.map(() => null))
      expect(await ask(point)).toEqual({ items })
      expect(await countQueued(walk, point)).toBe(ENTRIES)
      const ids = items.map(({ outboxId }) => outboxId)
      await waitUntil('all to be sent', async () => {
        await hurry(walk.db)
        const { rows } = await sql`
          select from outbox where id = any(${ids}::uuid[]) and status = 'sent' and task is null`.execute(
          walk.db,
        )
        return rows.length === ENTRIES
      })
      const accepted = (await walk.sink.accepted()).filter(({ content }) =>
        content.includes(`Subject: ${point}\r\n`),
      )
      expect(accepted.map(({ to }) => to.join()).toSorted()).toEqual(
        mergeOf(point)
          .entries.map(({ to }) => to.address)
          .toSorted(),
      )
    }
    // Content that the killed process wrote for nothing is swept; everything else is gone already.
    const { rows } = await sql`select from outbox_content where outbox_id is not null`.execute(walk.db)
    expect(rows).toEqual([])
  },
)

test('the time between hand-overs is kept when the service is killed', { timeout: 300_000 }, async () => {
  const walk = opened()
  const { call } = await walk.connect()
  const body = {
    ...mergeOf('paced'),
    attachments: [],
    intervalSeconds: 2,
    entries: mergeOf('').entries.slice(0, 3),
  }
  await walk.crashAt('outcome_recorded')
  const { items } = await call<{ items: MergeItem[] }>('mail-merges', body, 'paced')
  await walk.restart()
  const ids = items.map(({ outboxId }) => outboxId)
  const gaps = await waitUntil('all to be handed over', async () => {
    const { rows } = await sql<{ gap: number | null }>`
      select extract(epoch from handed_over_at - lag(handed_over_at) over (order by handed_over_at))::float8 as gap
      from outbox where id = any(${ids}::uuid[]) and status = 'sent' order by handed_over_at`.execute(walk.db)
    return rows.length === ids.length ? rows.slice(1).map(({ gap }) => gap ?? 0) : null
  })
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(2)
})
