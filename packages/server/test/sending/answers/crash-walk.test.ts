import type { ChangeEvent, EventType } from '@waxwing/contract/events.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { waitForFirstSync } from '../../sync/followed-account.ts'
import { waitUntil } from '../../wait-until.ts'
import { type KillableSending, openKillableSending } from '../killable-sending.ts'
import { DSN_SHAPES } from './dsn-shapes.ts'
import { waitUntilLookedAt } from './open-answers.ts'

/** Moments at which the service is killed: the first two before anything is written, the others around the commit. */
const POINTS = ['events_handled', 'answer_claimed', 'answer_read', 'answer_commit', 'answer_recorded']

/** Waits until the copy of the send is indexed, and the followers have handled what they heard of. */
async function waitUntilFollowed({ db }: KillableSending, { id }: OutboxEntry): Promise<void> {
  await waitUntil('the followers to rest', async () => {
    const { rows } = await sql<{ isDone: boolean }>`
      select exists (select from message where outbox_id = ${id}) and not exists (
        select from event join event_follower as follower using (tenant_id)
        where event.id > follower.after_id and (event.type = 'message.created' or follower.name <> 'answers')
      ) as "isDone"`.execute(db)
    return rows[0]?.isDone
  })
}

/** The data of all events of a type, oldest first. */
async function listData(walk: KillableSending, type: EventType): Promise<Array<ChangeEvent['data']>> {
  const { body } = await walk.caller().get<{ items: ChangeEvent[] }>(`/v1/changes?limit=200&types=${type}`)
  return body.items.map(({ data }) => data)
}

test(
  'a report is recorded and announced once, wherever the service is killed',
  { timeout: 900_000 },
  async () => {
    await using walk = await openKillableSending(['sync'])
    await waitForFirstSync(walk.caller(), walk.accountId, 120)
    const path = `/v1/accounts/${walk.accountId}/outbox`
    const sends: Array<{ point: string; entry: OutboxEntry; address: string }> = []
    for (const point of POINTS) {
      const address = `${point.replace('_', '-')}@example.org`
      const { body } = await walk
        .caller()
        .post<OutboxEntry>(path, { to: [{ address }], subject: point, text: 'Hi' })
      const entry = await walk.waitForEnd(body)
      await waitUntilFollowed(walk, entry)
      sends.push({ point, entry, address })
      const report = DSN_SHAPES[0]!.write({
        messageId: entry.internetMessageId,
        outboxId: entry.id,
        sender: entry.from.address,
      })
      await walk.crashAt(point)
      await walk.world.deliver([{ raw: report.replaceAll('grace@example.org', address) }])
      await walk.restart()
      // Before the report is indexed, nothing is left to look at either.
      await waitUntil('the bounce', async () =>
        (await listData(walk, 'message.bounced')).some(({ outboxId }) => outboxId === entry.id),
      )
      await waitUntilLookedAt(walk)
    }
    expect((await listData(walk, 'message.bounced')).map(({ outboxId }) => outboxId)).toEqual(
      sends.map(({ entry }) => entry.id),
    )
    expect((await listData(walk, 'suppression.created')).map(({ address }) => address)).toEqual(
      sends.map(({ address }) => address),
    )
    expect(await listData(walk, 'message.classified')).toHaveLength(POINTS.length)
  },
)
