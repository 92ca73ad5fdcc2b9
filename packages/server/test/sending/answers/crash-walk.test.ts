import type { ChangeEvent } from '@waxwing/contract/events.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { expect, test } from 'vitest'
import { waitForFirstSync } from '../../sync/followed-account.ts'
import { openKillableSending } from '../killable-sending.ts'
import { DSN_SHAPES } from './dsn-shapes.ts'
import { waitUntilLookedAt } from './open-answers.ts'

/** Moments at which the service is killed: the first two before anything is written, the others around the commit. */
const POINTS = ['events_handled', 'answer_claimed', 'answer_read', 'answer_commit', 'answer_recorded']

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
      sends.push({ point, entry, address })
      const report = DSN_SHAPES[0]!.write({
        messageId: entry.internetMessageId,
        outboxId: entry.id,
        sender: entry.from.address,
      })
      await walk.crashAt(point)
      await walk.world.deliver([{ raw: report.replaceAll('grace@example.org', address) }])
      await walk.restart()
      await waitUntilLookedAt(walk)
    }
    const { body } = await walk.caller().get<{ items: ChangeEvent[] }>('/v1/changes?limit=200')
    const of = (type: string) => body.items.filter(event => event.type === type).map(({ data }) => data)
    expect(of('message.bounced').map(({ outboxId }) => outboxId)).toEqual(sends.map(({ entry }) => entry.id))
    expect(of('suppression.created').map(({ address }) => address)).toEqual(
      sends.map(({ address }) => address),
    )
    expect(of('message.classified')).toHaveLength(POINTS.length)
  },
)
