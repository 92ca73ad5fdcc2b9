// What each runtime does with the packed client; plain JavaScript, since some of them run nothing else.
import { attachment, isEvent, isReason, NotFoundError, Waxwing } from '@waxwing/sdk'
import { verifyWebhook } from '@waxwing/sdk/webhooks'

/** @returns what came of it, which is the same everywhere */
export async function tryClient({ baseUrl, closedUrl, key, accountId, to, hasFeed, webhooks }) {
  const waxwing = new Waxwing({ baseUrl, key })
  const { items: mailboxes } = await waxwing.mailboxes.list({ accountId })
  const sent = await sendFile(waxwing, accountId, to)
  const { messageId } = sent
  const subjects = []
  for await (const { subject } of waxwing.messages.list({ accountId, limit: 1 })) subjects.push(subject)
  const raw = await waxwing.messages.raw({ accountId, messageId })
  const source = new TextDecoder().decode(await raw.bytes())
  return {
    hasInbox: mailboxes.some(({ role }) => role === 'inbox'),
    sent: sent.status,
    listed: subjects.includes('From a runtime'),
    source: /^Subject: .*$/m.exec(source)?.[0].trim(),
    ...(await changeDraft(waxwing, accountId)),
    ...(await failEachWay(waxwing, { accountId, closedUrl, key })),
    streamed: hasFeed ? await followOne(waxwing, accountId) : ['Streamed'],
    misjudged: await misjudged(webhooks),
  }
}

async function sendFile(waxwing, accountId, to) {
  const file = await attachment(new Blob(['a,b\n'], { type: 'text/csv' }), { filename: 'figures.csv' })
  const entry = await waxwing.outbox.create({
    accountId,
    to: [{ address: to }],
    subject: 'From a runtime',
    text: 'Hello.',
    attachments: [file],
  })
  let sent = entry
  while (sent.messageId === null && sent.status !== 'failed')
    sent = await waxwing.outbox.get({ accountId, outboxId: entry.id, waitSeconds: 2 })
  return sent
}

async function changeDraft(waxwing, accountId) {
  const { body, etag } = await waxwing.drafts.create({ accountId, subject: '1' }).withResponse()
  const draft = { accountId, messageId: body.id, subject: '2' }
  const changed = await waxwing.drafts.replace(draft, { ifMatch: etag })
  const refused = await errorOf(waxwing.drafts.replace(draft, { ifMatch: etag }))
  return { hasEtag: etag !== undefined, changed: changed.subject, refused: refused.status }
}

async function failEachWay(waxwing, { accountId, closedUrl, key }) {
  const missing = await errorOf(waxwing.messages.get({ accountId, messageId: crypto.randomUUID() }))
  const closed = new Waxwing({ baseUrl: closedUrl, key, retries: 0 })
  const unreachable = await errorOf(closed.mailboxes.create({ accountId, name: 'Never' }))
  const late = await errorOf(waxwing.mailboxes.list({ accountId }, { timeoutMs: 0.001 }))
  const leaving = new AbortController()
  const aborted = errorOf(waxwing.mailboxes.list({ accountId }, { signal: leaving.signal }))
  leaving.abort(new Error('left'))
  return {
    missing: missing instanceof NotFoundError && isReason(missing, 'message_not_found'),
    unreachable: `${unreachable.code} ${unreachable.outcome}`,
    late: late.code,
    aborted: (await aborted).message,
    showsKey: [missing, unreachable, late].some(error => `${error.message}${error.stack}`.includes(key)),
  }
}

async function followOne(waxwing, accountId) {
  const { nextCursor: cursor } = await waxwing.changes.list({ start: 'now' })
  const names = []
  await waxwing.mailboxes.create({ accountId, name: `Streamed-${crypto.randomUUID()}` })
  for await (const event of waxwing.changes.stream({ cursor, types: ['mailbox.created'] })) {
    if (isEvent(event, 'mailbox.created')) names.push(event.data.mailbox.name.replace(/-.*/, ''))
    break
  }
  return names
}

/** The webhooks that this runtime judges in another way than they say. */
async function misjudged({ secret, changed }) {
  const wrong = []
  for (const [index, { body, headers, isGenuine }] of changed.entries()) {
    const isAccepted = await verifyWebhook(body, headers, secret, { toleranceSeconds: 1e9 }).then(
      () => true,
      () => false,
    )
    if (isAccepted !== isGenuine) wrong.push(index)
  }
  return wrong
}

const errorOf = promise =>
  promise.then(
    () => ({ message: 'none' }),
    error => error,
  )
