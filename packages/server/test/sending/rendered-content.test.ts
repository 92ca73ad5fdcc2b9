import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import type { Template } from '@waxwing/contract/sending/templates.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from '../bodies/facts.ts'
import { QUICK_PACE, waitForFirstSync } from '../sync/followed-account.ts'
import { connectSender, GRACE, openSendingApp, send, type SendingApp, waitForStatus } from './open-sending.ts'

let sending: SendingApp
let account: string
let other: string
beforeAll(async () => {
  sending = await openSendingApp({ app: { roles: ['api', 'jobs', 'sync'], pace: QUICK_PACE } })
  account = await connectSender(sending.app, sending)
  other = await connectSender(sending.app, sending)
  await waitForFirstSync(sending.app, account)
})
afterAll(() => sending[Symbol.asyncDispose]())

const UNKNOWN = '01a1fc15-0c9b-7d0a-a4f7-3f5b1c2d9e22'
const SOURCE = {
  subject: 'Hello {{params.name}}',
  html: '<body><p>Dear {{params.name}}, yours {{account.name}}{{rcpt.address}}</p></body>',
  previewText: 'News for {{params.name}}',
}
const params = { name: 'Grace & <co>' }

let count = 0
async function store(body: object): Promise<string> {
  const answer = await sending.app.post<Template>('/v1/templates', { name: `template ${++count}`, ...body })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return answer.body.id
}

const post = (body: object, caller: Pick<SendingApp['app'], 'post'> = sending.app) =>
  caller.post<OutboxEntry>(`/v1/accounts/${account}/outbox`, { to: [GRACE], ...body })

/** The message as it arrives. */
async function arrived(entry: OutboxEntry) {
  await waitForStatus(sending.app, entry, 'sent')
  const accepted = await sending.sink.accepted()
  const message = accepted.find(({ content }) => content.includes(entry.internetMessageId))
  return parse(Buffer.from(message?.content ?? '', 'latin1'))
}

const DEAR = '<p>Dear Grace &amp; &lt;co&gt;, yours Ada Lovelace</p>'

describe('a send', () => {
  test('has what its template renders, and keeps it', async () => {
    const template = await store({ ...SOURCE, accountId: account })
    const { status, body: entry } = await post({
      template,
      render: { params },
      sendAt: new Date(Date.now() + 3000),
    })
    expect({ status, entry }).toMatchObject({
      status: 200,
      entry: {
        templateId: template,
        subject: 'Hello Grace & <co>',
        snippet: 'Dear Grace & <co>, yours Ada Lovelace',
      },
    })
    await sending.app.patch(`/v1/templates/${template}`, { html: 'changed', subject: 'changed' })
    await sending.app.delete(`/v1/templates/${template}`)
    const { html, text } = await arrived(entry)
    expect(html).toMatch(/^<body><div style="display:none[^>]*>News for Grace &amp; &lt;co&gt;<\/div>/)
    expect(html).toContain(DEAR)
    // The preview is no part of the text.
    expect(text?.trim()).toBe('Dear Grace & <co>, yours Ada Lovelace')
  })

  test('has what its own fields render', async () => {
    const { body: entry } = await post({ render: { ...SOURCE, text: 'Text for {{params.name}}', params } })
    expect(entry).toMatchObject({ templateId: null, subject: 'Hello Grace & <co>' })
    const { html, text } = await arrived(entry)
    expect(html).toContain(DEAR)
    expect(text?.trim()).toBe('Text for Grace & <co>')
  })

  test('has HTML and text of Markdown', async () => {
    const render = { format: 'markdown', html: 'Dear *{{params.name}}*', params }
    const { html, text } = await arrived((await post({ render })).body)
    expect(html?.trim()).toBe('<p>Dear <em>Grace &amp; &lt;co&gt;</em></p>')
    expect(text?.trim()).toBe('Dear *Grace & <co>*')
  })

  test('has subject, HTML and text as they are given, without a template', async () => {
    const given = { subject: '{{params.name}}', text: '{{> x}}', html: '<p>{{{y}}}</p>' }
    const entry = await send(sending.app, account, given)
    expect(entry.subject).toBe(given.subject)
    const { html, text } = await arrived(entry)
    expect([html?.trim(), text?.trim()]).toEqual([given.html, given.text])
    expect((await post({ ...given, template: null, render: null })).status).toBe(200)
  })

  test('takes a shared template, also with a key of its account', async () => {
    const shared = await store(SOURCE)
    const theirs = await store({ ...SOURCE, accountId: other })
    const bound = sending.app.as((await sending.app.createKey({ accountIds: [account] })).text)
    expect(await post({ template: shared }, bound)).toMatchObject({
      status: 200,
      body: { templateId: shared },
    })
    expect(await post({ template: theirs }, bound)).toMatchObject({
      status: 422,
      body: { code: 'unknown_template' },
    })
    expect(await post({ template: theirs })).toMatchObject({
      status: 400,
      body: { code: 'template_account_mismatch' },
    })
  })

  test.each<[string, object, string]>([
    ['a template that there is not', { template: UNKNOWN }, 'unknown_template'],
    ['a template beside a subject', { template: UNKNOWN, subject: 'x' }, 'template_and_inline_fields'],
    ['a template beside HTML', { template: UNKNOWN, html: '' }, 'template_and_inline_fields'],
    ['a template beside a text', { template: UNKNOWN, text: 'x' }, 'template_and_inline_fields'],
    [
      'a template beside a text to render',
      { template: UNKNOWN, render: { text: 'x' } },
      'template_and_inline_fields',
    ],
    [
      'a template beside a format',
      { template: UNKNOWN, render: { format: 'html' } },
      'template_and_inline_fields',
    ],
    [
      'a template beside both',
      { template: UNKNOWN, text: 'x', render: { text: 'x' } },
      'template_and_inline_fields',
    ],
    ['a field that does not compile', { render: { text: '{{> x}}' } }, 'invalid_template'],
    [
      'a field beyond its bound',
      { render: { subject: '{{params.x}}', params: { x: 'x'.repeat(2001) } } },
      'template_render_failed',
    ],
    [
      'parameters that are too large',
      { render: { text: 'x', params: { x: 'x'.repeat(262_144) } } },
      'params_too_large',
    ],
  ])('is refused with %s', async (_, body, code) => {
    expect(await post(body)).toMatchObject({ body: { code } })
  })

  test.each<[object, Array<string | number>]>([
    [{ text: 'x', render: { text: 'x' } }, ['text']],
    [{ subject: 'x', render: { text: 'x' } }, ['subject']],
    [{ html: 'x', render: { previewText: 'x' } }, ['html']],
    [{ render: {} }, ['render']],
    [{ text: 'x', render: { params: {} } }, ['render']],
    [{ render: { format: 'markdown' } }, ['render']],
    [{ template: 'x' }, ['template']],
    [{ render: { text: 'x', source: 'handlebars' } }, ['render', 'source']],
    [{ render: { text: 'x', params: [] } }, ['render', 'params']],
    [{ render: { html: { type: 'Program' } } }, ['render', 'html']],
  ])('is refused with %j at its path', async (body, path) => {
    expect(await post(body)).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', data: { issues: [{ path }] } },
    })
  })

  test('that replies keeps the subject of the reply where its template has none', async () => {
    const { body: draft } = await sending.app.post<Message>(`/v1/accounts/${account}/drafts`, {
      subject: 'Figures',
    })
    const { body: entry } = await post({
      inReplyTo: draft.id,
      render: { text: 'Hello {{params.name}}', params },
    })
    expect(entry.subject).toBe('Re: Figures')
  })
})

describe('a draft', () => {
  const path = () => `/v1/accounts/${account}/drafts`

  test('is written with what its template renders, and replaced by what another one does', async () => {
    const template = await store({ ...SOURCE, accountId: account })
    const { status, body: draft } = await sending.app.post<Message>(path(), { template, render: { params } })
    expect({ status, draft }).toMatchObject({
      status: 200,
      draft: { subject: 'Hello Grace & <co>', isDraft: true },
    })
    expect(draft.body?.html).toContain(DEAR)
    const changed = await sending.app.put<Message>(`${path()}/${draft.id}`, {
      render: { subject: '{{params.n}}', format: 'markdown', html: '*{{params.n}}*', params: { n: 2 } },
    })
    expect(changed).toMatchObject({ status: 200, body: { id: draft.id, subject: '2' } })
    expect([changed.body.body?.html?.trim(), changed.body.body?.text?.trim()]).toEqual([
      '<p><em>2</em></p>',
      '*2*',
    ])
  })

  test('is refused for the same reasons, and stays as it is', async () => {
    const { body: draft } = await sending.app.post<Message>(path(), { subject: 'Stays', text: 'x' })
    for (const [body, code] of [
      [{ template: UNKNOWN }, 'unknown_template'],
      [{ template: UNKNOWN, text: 'x' }, 'template_and_inline_fields'],
      [{ render: { text: '{{#if}}' } }, 'invalid_template'],
      [{ render: { text: 'x' }, text: 'x' }, 'invalid_input'],
    ] as const) {
      expect(await sending.app.post(path(), body)).toMatchObject({ body: { code } })
      expect(await sending.app.put(`${path()}/${draft.id}`, body)).toMatchObject({ body: { code } })
    }
    expect(
      (await sending.app.get<Message>(`/v1/accounts/${account}/messages/${draft.id}`)).body.subject,
    ).toBe('Stays')
    expect((await sending.app.put(`${path()}/${draft.id}`, { subject: 'Changed' })).status).toBe(200)
  })
})
