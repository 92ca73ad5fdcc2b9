import { sql } from 'kysely'
import { expect } from 'vitest'
import { waitUntil } from '../../wait-until.ts'
import type { SdkWorld } from './world.ts'

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()

/** Drafts, sends, merges and templates, by way of Postfix. */
export async function walkSending(world: SdkWorld): Promise<void> {
  const { accountId } = await world.account()
  const grace = await world.dovecot.addUser()
  const message = { to: [{ address: grace.email }], subject: 'Hello', text: 'Hello, Grace.\n' }
  await walkDrafts(world, accountId, message)
  await walkOutbox(world, accountId, message)
  await walkTemplates(world)
  const { to, ...shared } = message
  const merge = { ...shared, entries: to.map(address => ({ to: address })) }
  await world.check(
    'mailMerges.create',
    `POST /accounts/${accountId}/mail-merges`,
    () => world.waxwing.mailMerges.create({ accountId, ...merge }),
    merge,
  )
}

type Message = { to: { address: string }[]; subject: string; text: string }

async function walkDrafts({ waxwing, check }: SdkWorld, accountId: string, message: Message): Promise<void> {
  const path = `/accounts/${accountId}/drafts` as const
  const { id } = await check(
    'drafts.create',
    `POST ${path}`,
    () => waxwing.drafts.create({ accountId, ...message }),
    message,
  )
  const again = { ...message, subject: 'Hello again' }
  await check(
    'drafts.replace',
    `PUT ${path}/${id}`,
    () => waxwing.drafts.replace({ accountId, messageId: id, ...again }),
    again,
  )
  await check('drafts.delete', `DELETE ${path}/${id}`, () =>
    waxwing.drafts.delete({ accountId, messageId: id }),
  )
  const { id: messageId } = await waxwing.drafts.create({ accountId, ...message })
  const options = { reference: 'greeting' }
  await check(
    'drafts.send',
    `POST ${path}/${messageId}/send`,
    () => waxwing.drafts.send({ accountId, messageId, ...options }),
    options,
  )
}

async function walkOutbox(
  { waxwing, check, app }: SdkWorld,
  accountId: string,
  message: Message,
): Promise<void> {
  const path = `/accounts/${accountId}/outbox` as const
  const { id: sentId } = await check(
    'outbox.create',
    `POST ${path}`,
    () => waxwing.outbox.create({ accountId, ...message }),
    message,
  )
  await waitUntil('the send', async () => {
    const { status } = await waxwing.outbox.get({ accountId, outboxId: sentId, waitSeconds: 10 })
    return status === 'sent' || null
  })
  await check('outbox.get', `GET ${path}/${sentId}?waitSeconds=1`, () =>
    waxwing.outbox.get({ accountId, outboxId: sentId, waitSeconds: 1 }),
  )
  await check('tracking.get', `GET ${path}/${sentId}/tracking`, () =>
    waxwing.tracking.get({ accountId, outboxId: sentId }),
  )
  const { id: outboxId } = await waxwing.outbox.create({ accountId, ...message, sendAt: inHours(1) })
  const later = { sendAt: inHours(2) }
  await check(
    'outbox.reschedule',
    `PATCH ${path}/${outboxId}`,
    () => waxwing.outbox.reschedule({ accountId, outboxId, ...later }),
    later,
  )
  await check('outbox.cancel', `DELETE ${path}/${outboxId}`, () =>
    waxwing.outbox.cancel({ accountId, outboxId }),
  )
  const { items } = await check('outbox.list', `GET ${path}?status=cancelled&limit=2`, () =>
    waxwing.outbox.list({ accountId, status: ['cancelled'], limit: 2 }),
  )
  expect(items.map(({ id }) => id)).toEqual([outboxId])
  const { id: heldId } = await waxwing.outbox.create({ accountId, ...message, sendAt: inHours(1) })
  // As after a restore of the database.
  await sql`
    update outbox set status = 'failed', error_reason = 'outcome_unknown', error_message = 'held',
      held_since = clock_timestamp(), due_at = null
    where id = ${heldId}
  `.execute(app.db)
  await check('outbox.release', `POST ${path}/${heldId}/release`, () =>
    waxwing.outbox.release({ accountId, outboxId: heldId }),
  )
}

async function walkTemplates({ waxwing, check }: SdkWorld): Promise<void> {
  const template = { name: 'Welcome', subject: 'Welcome', text: 'Welcome, {{params.name}}.' }
  const { id: templateId } = await check(
    'templates.create',
    'POST /templates',
    () => waxwing.templates.create(template),
    template,
  )
  const change = { text: 'Be welcome, {{params.name}}.' }
  await check(
    'templates.update',
    `PATCH /templates/${templateId}`,
    () => waxwing.templates.update({ templateId, ...change }),
    change,
  )
  await check('templates.get', `GET /templates/${templateId}`, () => waxwing.templates.get({ templateId }))
  await check('templates.list', 'GET /templates?name=Welcome', () =>
    waxwing.templates.list({ name: 'Welcome' }),
  )
  const render = { templateId, params: { name: 'Ada' } }
  const rendered = await check(
    'templateRenders.create',
    'POST /template-renders',
    () => waxwing.templateRenders.create(render),
    render,
  )
  expect(rendered.text).toBe('Be welcome, Ada.')
  await check('templates.delete', `DELETE /templates/${templateId}`, () =>
    waxwing.templates.delete({ templateId }),
  )
}
