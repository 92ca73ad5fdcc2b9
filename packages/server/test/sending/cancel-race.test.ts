import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { seeded } from '../seeded.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, openSendingApp, send, sendEvents } from './open-sending.ts'

const ENTRIES = 24
const ACTORS = 4

test.each(seedsFor(1))(
  'cancelling, rescheduling and sending at the same time end each message once (seed %i)',
  async seed => {
    await using opened = await openSendingApp()
    const { app, sink } = opened
    const random = seeded(seed)
    const accountId = await connectSender(app, opened)
    const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString()
    const entries: OutboxEntry[] = []
    for (let count = 0; count < ENTRIES; count++)
      entries.push(await send(app, accountId, { sendAt: inSeconds(random.between(0, 3)) }))

    const cancelled = new Map<string, number>()
    let rescheduled = 0
    const act = async () => {
      for (let turn = 0; turn < ENTRIES; turn++) {
        const { id } = random.pick(entries)
        const path = `/v1/accounts/${accountId}/outbox/${id}`
        if (random.between(0, 2) === 0) {
          const { status, body } = await app.delete(path)
          if (status === 200) cancelled.set(id, (cancelled.get(id) ?? 0) + 1)
          else expect([status, body['code']]).toEqual([409, 'send_not_cancellable'])
        } else {
          const sendAt = random.between(0, 1) === 0 ? null : inSeconds(random.between(0, 2))
          const { status, body } = await app.patch(path, { sendAt })
          if (status === 200) rescheduled++
          else expect([status, body['code']]).toEqual([409, 'send_not_reschedulable'])
        }
      }
    }
    await Promise.all(Array.from({ length: ACTORS }, act))
    await waitUntil('the ends', async () => {
      const { rows } = await sql`select from outbox where status in ('queued', 'sending')`.execute(app.db)
      return rows.length === 0
    })

    const { body } = await app.get<{ items: OutboxEntry[] }>(`/v1/accounts/${accountId}/outbox`)
    const accepted = (await sink.accepted()).map(({ messageId }) => messageId)
    for (const { id, status, internetMessageId } of body.items) {
      const copies = accepted.filter(messageId => messageId === internetMessageId).length
      const expected = cancelled.has(id)
        ? { status: 'cancelled', copies: 0, cancellations: 1 }
        : { status: 'sent', copies: 1, cancellations: 0 }
      expect({ id, status, copies, cancellations: cancelled.get(id) ?? 0 }).toEqual({ id, ...expected })
    }
    expect(body.items).toHaveLength(ENTRIES)
    const types = (await sendEvents(app)).map(({ type }) => type)
    expect(types.filter(type => type === 'send.rescheduled')).toHaveLength(rescheduled)
    expect(types.filter(type => type === 'send.sent')).toHaveLength(ENTRIES - cancelled.size)
  },
)
