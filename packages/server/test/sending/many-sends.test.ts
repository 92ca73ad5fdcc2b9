import type { ChangeEvent } from '@waxwing/contract/events.ts'
import type { MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import { expect, test } from 'vitest'
import { createEndpoint } from '../notifications/open-webhooks.ts'
import { startReceiver } from '../notifications/receiver.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, openSendingApp, type SendEventData } from './open-sending.ts'

/** `npm run soak` sends 20,000: 20 merges of as many entries as one may have. */
const MERGES = Number(process.env['WAXWING_TEST_MERGES'] ?? 1)
const ENTRIES = MERGES > 1 ? 1000 : 200
const ACCOUNTS = 4
/** One recipient of this number is refused. */
const REFUSED_EACH = 50

const addressOf = (merge: number, nth: number) =>
  nth % REFUSED_EACH === 0 ? `gone-${merge}-${nth}@example.org` : `reader-${merge}-${nth}@example.org`

test(
  `each of ${MERGES * ENTRIES} sends ends in one event and one webhook, and is accepted once`,
  { timeout: 1_800_000 },
  async () => {
    await using receiver = await startReceiver()
    await using sending = await openSendingApp({
      app: { config: { webhookAllow: ['127.0.0.1/32'], webhookAllowHttp: true } },
      sink: {
        behave: ({ step, argument }) =>
          step === 'rcpt' && argument.startsWith('gone') ? '550 5.1.1 No such user' : null,
      },
    })
    const { app, sink } = sending
    await createEndpoint(app, `${receiver.url}/sends`, { eventTypes: ['send.sent', 'send.failed'] })
    const accountIds: string[] = []
    for (let nth = 0; nth < Math.min(ACCOUNTS, MERGES); nth++)
      accountIds.push(await connectSender(app, sending))
    const wanted = new Map<string, 'send.sent' | 'send.failed'>()
    for (let merge = 0; merge < MERGES; merge++) {
      const accountId = accountIds[merge % accountIds.length]!
      const { status, body } = await app.post<{ items: MergeItem[] }>(
        `/v1/accounts/${accountId}/mail-merges`,
        {
          subject: `News ${merge}`,
          text: 'There is news.',
          entries: Array.from({ length: ENTRIES }, (_, nth) => ({ to: { address: addressOf(merge, nth) } })),
        },
      )
      expect(status).toBe(200)
      for (const [nth, { outboxId }] of body.items.entries())
        wanted.set(outboxId!, nth % REFUSED_EACH === 0 ? 'send.failed' : 'send.sent')
    }
    expect(wanted.size).toBe(MERGES * ENTRIES)

    const ended: Array<[string, string]> = []
    const eventIds: string[] = []
    let cursor: string | null = null
    const readOn = async () => {
      const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const { body } = await app.get<{ items: ChangeEvent[]; nextCursor: string }>(
        `/v1/changes?limit=200&types=send.sent,send.failed${from}`,
      )
      cursor = body.nextCursor
      for (const { id, type, data } of body.items) {
        ended.push([(data as unknown as SendEventData).outbox.id, type])
        eventIds.push(id)
      }
      return body.items.length
    }
    await waitUntil(
      'an event of each',
      async () => {
        while ((await readOn()) > 0);
        return ended.length >= wanted.size
      },
      1_500,
    )
    expect(ended).toHaveLength(wanted.size)
    expect(new Map(ended)).toEqual(wanted)
    await waitUntil(
      'a webhook of each',
      async () => new Set(receiver.idsAt('/sends')).size >= wanted.size,
      600,
    )
    // A webhook whose answer was late is posted again.
    expect(new Set(receiver.idsAt('/sends'))).toEqual(new Set(eventIds))
    const recipients = (await sink.accepted()).flatMap(({ to }) => to)
    expect(recipients.toSorted()).toEqual(
      Array.from({ length: MERGES * ENTRIES }, (_, at) => addressOf(Math.floor(at / ENTRIES), at % ENTRIES))
        .filter(address => address.startsWith('reader'))
        .toSorted(),
    )
  },
)
