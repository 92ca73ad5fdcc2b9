import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { UsageReport } from '@waxwing/contract/tenancy/usage.ts'
import { sql } from 'kysely'
import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { findAccountView } from '../../src/accounts/store.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { findNamedSends } from '../../src/features/sending/bounces/store.ts'
import { requireMayInvite } from '../../src/features/sending/invitations/access.ts'
import type { InvitationMail } from '../../src/features/sending/invitations/invitation.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { setPastDue } from '../../src/features/tenancy/tenants/store.ts'
import { newId } from '../../src/kit/ids.ts'
import { contentOf, parse } from '../bodies/facts.ts'
import type { TestApp } from '../open-app.ts'
import { findFreePort, readMetric } from '../metrics.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { useServer } from '../servers/shared-server.ts'
import { startPostfix } from '../servers/postfix.ts'
import { openWorld } from '../servers/world.ts'
import { readFeed } from '../sync/followed-account.ts'
import { waitForDay } from '../wait-for-day.ts'
import { waitUntil } from '../wait-until.ts'
import { ICS, invitation, invite } from './inviting.ts'
import { connectSender, GRACE, openSendingApp, openSendingTenant, send } from './open-sending.ts'

beforeEach(waitForDay)

const metricsPort = await findFreePort()
const running = useServer(() => openSendingApp({ app: { config: { metricsPort } } }))

const FAILURES = 'waxwing_invitations_failed_total'

/** The stored row of a mail, which no operation shows. */
async function rowOf({ db }: TestApp, { id }: InvitationMail) {
  const { rows } = await sql<{ status: string; phase: string | null; task: string | null; subject: string }>`
    select status, phase, task, subject from outbox where id = ${id}
  `.execute(db)
  return rows[0]
}

const waitForStatus = (app: TestApp, mail: InvitationMail, status: string) =>
  waitUntil(`the invitation to be ${status}`, async () => {
    const row = await rowOf(app, mail)
    return row?.status === status && row.phase === null ? row : null
  })

/** Events since the account was connected. */
async function newsOf(app: TestApp): Promise<string[]> {
  const { events } = await readFeed(app)
  return events.map(({ type }) => type).filter(type => /^(send|message)\./.test(type))
}

const readUsage = async (app: TestApp) => (await app.get<UsageReport>('/v1/usage')).body

/** The iCalendar objects of a message: the alternative, and the file. */
function objectsOf(content: string): string[] {
  const raw = Buffer.from(content, 'latin1')
  return parse(raw).attachments.map(part => contentOf(raw, part).toString('utf8'))
}

describe('an invitation', () => {
  test('arrives once, with its object, and is in no operation and no event', async () => {
    await using opened = await openSendingTenant(running())
    const { app, sink, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user, appendSent: true })
    const mail = invitation({ from: { name: 'Ada\r\nBcc: x@example.net', address: user.email } })
    await invite(app, accountId, [mail])
    // The same mail of the same write, which a finisher repeats.
    await invite(app, accountId, [mail])
    await invite(app, accountId, [mail, invitation({ to: [{ name: null, address: 'urn:uuid:1' }] })])
    const row = await waitForStatus(app, mail, 'sent')
    expect(row).toEqual({ status: 'sent', phase: null, task: null, subject: null })

    const [message, ...others] = await sink.accepted()
    expect(others).toEqual([])
    expect(message).toMatchObject({ from: user.email, to: ['grace@example.org'] })
    const { content } = message!
    expect(content).not.toMatch(/^Bcc:/m)
    expect(parse(Buffer.from(content, 'latin1'))).toMatchObject({ text: mail.text, html: mail.html })
    expect(objectsOf(content)).toEqual([ICS, ICS])
    expect(content).toContain('Content-Type: text/calendar; method=REQUEST; charset=utf-8\r\n')

    const base = `/v1/accounts/${accountId}/outbox`
    expect(await app.get(base)).toMatchObject({ status: 200, body: { items: [] } })
    for (const answer of [
      await app.get(`${base}/${mail.id}`),
      await app.patch(`${base}/${mail.id}`, { sendAt: null }),
      await app.delete(`${base}/${mail.id}`),
      await app.post(`${base}/${mail.id}/release`),
    ])
      expect(answer).toMatchObject({ status: 404, body: { code: 'send_not_found' } })
    expect(await newsOf(app)).toEqual([])
    const named = { messageIds: [message!.messageId], outboxIds: [mail.id] }
    const ofReport = await inTransaction(app.db, app.tenantId, unit =>
      findNamedSends(unit, accountId, named, null),
    )
    expect(ofReport).toEqual([])
    await waitUntil('it to be counted', async () => (await readUsage(app)).days[0]?.sends === 1)
    expect((await readUsage(app)).current.sendsToday).toBe(1)
    const { rows } = await sql`
      select outbox_id from sent_message where account_id = ${accountId}
      union all select id from outbox_content where account_id = ${accountId}
    `.execute(app.db)
    expect(rows).toEqual([])
    await using world = await openWorld(imap, user)
    expect(await world.uids('Sent')).toEqual([])
  })

  test('reaches people on a suppression list, and puts nobody on one', async () => {
    await using opened = await openSendingTenant(running(), {
      behave: ({ step, argument }) =>
        step === 'rcpt' && argument.includes('nobody') ? '550 5.1.1 no such user' : null,
    })
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    await app.post('/v1/suppressions/global/entries', { addresses: [GRACE.address] })
    const failedBefore = (await readMetric(metricsPort, FAILURES)) || 0
    const nobody = { name: null, address: 'nobody@example.org' }
    const partly = invitation({ to: [GRACE, nobody].map(each => ({ name: null, ...each })) })
    const failed = invitation({ to: [nobody] })
    await invite(app, accountId, [partly, failed])
    await waitForStatus(app, partly, 'sent')
    await waitForStatus(app, failed, 'failed')

    expect((await sink.accepted()).map(({ to }) => to)).toEqual([[GRACE.address]])
    await waitUntil(
      'both to be counted',
      async () => (await readMetric(metricsPort, FAILURES)) >= failedBefore + 2,
    )
    expect(await readMetric(metricsPort, FAILURES)).toBe(failedBefore + 2)
    for (const { eventId } of [partly, failed]) {
      const lines = app.logLines.filter(line => line.includes(eventId))
      expect(lines.map(line => JSON.parse(line) as object)).toMatchObject([
        {
          message: 'An invitation did not reach all of its recipients',
          accountId,
          reason: 'provider_rejected',
        },
      ])
      expect(lines.join()).not.toContain('nobody')
    }
    const { body } = await app.get<{ items: Array<{ address: string }> }>('/v1/suppressions/global/entries')
    expect(body.items.map(({ address }) => address)).toEqual([GRACE.address])
    expect(await newsOf(app)).toEqual([])
  })

  test('counts as a send of its tenant, also beyond what the plan allows', async () => {
    await using opened = await openSendingTenant(running())
    const { app } = opened
    const accountId = await connectSender(app, opened)
    await invite(app, accountId, [invitation()])
    await assignPlan(
      app.db,
      app.tenantId,
      await createPlan(app.db, newId(), { ...NO_LIMITS, sendsPerDay: 2 }),
    )
    const account = (await findAccountView(app.db, app.tenantId, accountId))!
    const refusalOf = (count: number) =>
      requireMayInvite(app.db, account, count).then(
        () => null,
        (error: { reason?: string; code?: string }) => error.reason ?? error.code,
      )
    // The first send under the plan counts what was queued before.
    await send(app, accountId)
    expect((await readUsage(app)).current.sendsToday).toBe(2)
    expect(await refusalOf(0)).toBe(null)
    expect(await refusalOf(1)).toBe('plan_limit_sends')
    await invite(app, accountId, [invitation(), invitation()])
    const { rows } = await sql`select count from tenant_sends where tenant_id = ${app.tenantId}`.execute(
      app.db,
    )
    expect(rows).toEqual([{ count: 4 }])
    const { status, body } = await app.post<OutboxEntry & { code: string }>(
      `/v1/accounts/${accountId}/outbox`,
      { to: [GRACE], text: 'One too many.' },
    )
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'plan_limit_sends' })

    await setPastDue(app.db, app.tenantId, true)
    expect(await refusalOf(1)).toBe('billing_past_due')
    const reading = { ...account, imap: { ...account.imap!, smtp: null } }
    await expect(requireMayInvite(app.db, reading, 1)).rejects.toMatchObject({
      reason: 'provider_unsupported',
    })
  })

  test('is not queued for an account that was deleted', async () => {
    await using opened = await openSendingTenant(running())
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const account = (await findAccountView(app.db, app.tenantId, accountId))!
    await app.delete(`/v1/accounts/${accountId}`)
    const mail = invitation()
    await invite(app, account, [mail])
    expect(await rowOf(app, mail)).toBe(undefined)
  })

  test('of a large object is written in pieces, and arrives whole', async () => {
    await using opened = await openSendingTenant(running())
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    // More than a piece, however it is compressed.
    const noise = Array.from({ length: 11_000 }, () => `X-NOISE:${randomBytes(57).toString('base64')}\r\n`)
    const calendar = ICS.replace('END:VEVENT', `${noise.join('')}END:VEVENT`)
    const mail = invitation({ calendar, method: 'CANCEL' })
    await invite(app, accountId, [mail])
    // Queued before under this id, so its pieces are removed again.
    await invite(app, accountId, [{ ...mail, subject: 'Again' }])
    await waitForStatus(app, mail, 'sent')
    const [message, ...others] = await sink.accepted()
    expect(others).toEqual([])
    expect(objectsOf(message!.content)).toEqual([calendar, calendar])
    const { rows } = await sql`select from outbox_content where account_id = ${accountId}`.execute(app.db)
    expect(rows).toEqual([])
  })
})

test('an invitation passes Postfix, and those that it refuses are counted', async () => {
  await using dovecot = await startDovecot()
  await using postfix = await startPostfix(dovecot)
  const [sender, guest] = [await dovecot.addUser(), await dovecot.addUser()]
  const { app: service } = running()
  const app: TestApp = { ...service, ...(await service.createTenant(newId())) }
  const accountId = await connectSender(app, { imap: dovecot, sink: postfix }, { user: sender })
  const domain = guest.email.slice(guest.email.indexOf('@'))
  const to = [guest.email, `nobody${domain}`].map(address => ({ name: null, address }))
  const failedBefore = (await readMetric(metricsPort, FAILURES)) || 0
  const mail = invitation({ from: { name: 'Ada', address: sender.email }, to })
  await invite(app, accountId, [mail])
  await waitForStatus(app, mail, 'sent')

  await using world = await openWorld(dovecot, guest)
  await waitUntil('the mail', async () => (await world.uids('INBOX')).length > 0)
  expect(await world.uids('INBOX')).toHaveLength(1)
  await waitUntil(
    'the failure to be counted',
    async () => (await readMetric(metricsPort, FAILURES)) === failedBefore + 1,
  )
})
