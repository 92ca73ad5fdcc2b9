/** @module-tag postgres-16-in-soak */
import { expect, test } from 'vitest'
import { openTestApp } from '../../open-app.ts'
import { startDovecot } from '../../servers/dovecot.ts'
import { startPostfix } from '../../servers/postfix.ts'
import { QUICK_PACE, waitForFirstSync } from '../../sync/followed-account.ts'
import { waitUntil } from '../../wait-until.ts'
import { connectSender, send, waitForStatus } from '../open-sending.ts'
import { dataOf, waitUntilLookedAt } from './open-answers.ts'

test('reports of a real Postfix become bounces, by recipient', { timeout: 300_000 }, async () => {
  await using imap = await startDovecot()
  await using postfix = await startPostfix(imap)
  await using app = await openTestApp({
    roles: ['api', 'jobs', 'sync'],
    pace: QUICK_PACE,
    egressAllow: ['127.0.0.1/32'],
    allowPlaintext: true,
  })
  const user = await imap.addUser()
  const accountId = await connectSender(app, { imap, sink: postfix }, { user })
  await waitForFirstSync(app, accountId)

  const to = (...addresses: string[]) => ({ to: addresses.map(address => ({ address })) })
  const gone = await send(app, accountId, { ...to('grace@bounce.test'), reference: 'gone' })
  const full = await send(app, accountId, to('max@full.test'))
  const both = await send(app, accountId, to('eve@bounce.test', 'mia@full.test', user.email))
  const late = await send(app, accountId, to('late@defer.test'))
  for (const entry of [gone, full, both, late]) await waitForStatus(app, entry, 'sent')

  const bounces = await waitUntil('four bounces', async () => {
    const found = await dataOf(app, 'message.bounced')
    return found.length >= 4 ? found : null
  })
  const summary = bounces.map(({ outboxId, bounceType, reference, recipients }) => ({
    outboxId,
    bounceType,
    reference,
    recipients: recipients.map(({ address, status }) => `${address} ${status}`),
  }))
  expect(summary).toHaveLength(4)
  expect(summary).toEqual(
    expect.arrayContaining([
      { outboxId: gone.id, bounceType: 'hard', reference: 'gone', recipients: ['grace@bounce.test 5.1.1'] },
      { outboxId: full.id, bounceType: 'soft', reference: null, recipients: ['max@full.test 5.2.2'] },
      { outboxId: both.id, bounceType: 'hard', reference: null, recipients: ['eve@bounce.test 5.1.1'] },
      { outboxId: both.id, bounceType: 'soft', reference: null, recipients: ['mia@full.test 5.2.2'] },
    ]),
  )
  const suppressed = (await dataOf(app, 'suppression.created')).map(({ address }) => address)
  expect(suppressed.toSorted()).toEqual(['eve@bounce.test', 'grace@bounce.test'])

  // The warning of the delay is known as automatic, and is no bounce.
  const delayed = await waitUntil('the warning', async () =>
    (await dataOf(app, 'message.classified')).find(
      ({ classification }) => classification.outboxId === late.id,
    ),
  )
  expect(delayed.classification).toMatchObject({ kind: 'auto_reply', autoReplyCategory: 'other' })
  await waitUntilLookedAt(app)
  expect((await dataOf(app, 'message.bounced')).filter(({ outboxId }) => outboxId === late.id)).toEqual([])
})
