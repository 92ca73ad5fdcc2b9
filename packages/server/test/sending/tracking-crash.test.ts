import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { SendTracking } from '@waxwing/contract/sending/tracking.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { parse } from '../bodies/facts.ts'
import { waitUntil } from '../wait-until.ts'
import { type KillableSender, type KillableSending, openKillableSending } from './killable-sending.ts'
import { GRACE, send, waitForStatus } from './open-sending.ts'

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'

async function sendTracked(
  walk: KillableSending,
  { accountId }: KillableSender,
): Promise<{ entry: OutboxEntry; paths: string[] }> {
  const html = '<p><a href="https://example.org/">x</a></p>'
  const options = { to: [GRACE], html, trackOpens: true, trackClicks: true }
  const entry = await send(walk.caller(), accountId, options)
  await waitForStatus(walk.caller(), entry, 'sent')
  const accepted = await walk.sink.accepted()
  const wire = accepted.find(({ messageId }) => messageId === entry.internetMessageId)
  const tracked = parse(Buffer.from(wire?.content ?? '', 'latin1')).html ?? ''
  return {
    entry,
    paths: [...tracked.matchAll(/https:\/\/links\.example\.com(\/t\/[^"]+)/g)].map(([, path]) => path ?? ''),
  }
}

/** Opens the links of a message, each of which must be answered. */
async function follow(walk: KillableSending, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const answer = await fetch(walk.address() + path, {
      redirect: 'manual',
      headers: { 'user-agent': BROWSER },
    })
    expect([200, 302]).toContain(answer.status)
    await answer.arrayBuffer()
  }
}

/** In place of waiting until it is time to judge what came of a message. */
async function hurry({ db }: KillableSending, { id }: OutboxEntry): Promise<void> {
  await sql`
    update tracking_item set occurred_at = occurred_at - interval '11 seconds'
    where outbox_id = ${id} and is_machine is null
  `.execute(db)
  await sql`select pg_notify('waxwing_tracking', '')`.execute(db)
}

async function countEvents(walk: KillableSending, { id }: OutboxEntry): Promise<number> {
  const { rows } = await sql`
    select from event where type in ('message.opened', 'message.clicked') and data ->> 'outboxId' = ${id}
  `.execute(walk.db)
  return rows.length
}

async function countsOf(walk: KillableSending, { id, accountId }: OutboxEntry): Promise<[number, number]> {
  const path = `/v1/accounts/${accountId}/outbox/${id}/tracking`
  const { opens, clicks } = (await walk.caller().get<SendTracking>(path)).body
  return [opens.count, clicks.count]
}

test(
  'opens and clicks that were answered are announced once, wherever they are when the service is killed',
  { timeout: 300_000 },
  async () => {
    await using walk = await openKillableSending()
    const sender = await walk.connect()
    const [answered, judged] = [await sendTracked(walk, sender), await sendTracked(walk, sender)]
    await follow(walk, judged.paths)
    await walk.holdAt('judge_commit', () => hurry(walk, judged.entry))
    await follow(walk, answered.paths)
    await walk.kill()
    for (const { entry } of [answered, judged]) expect(await countEvents(walk, entry)).toBe(0)
    await walk.restart()
    for (const { entry } of [answered, judged]) {
      await hurry(walk, entry)
      const found = async () => ({
        counts: await countsOf(walk, entry),
        events: await countEvents(walk, entry),
      })
      await waitUntil('both to be judged', async () => (await found()).events >= 2)
      expect(await found()).toEqual({ counts: [1, 1], events: 2 })
    }
  },
)
