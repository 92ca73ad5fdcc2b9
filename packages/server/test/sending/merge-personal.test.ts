import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import { merging, readers } from './merging.ts'
import { connectSender, openSendingApp, type SendingApp } from './open-sending.ts'

let opened: SendingApp
beforeAll(async () => {
  opened = await openSendingApp({ app: { config: { linksUrl: 'https://links.example.org' } } })
})
afterAll(() => opened[Symbol.asyncDispose]())

const { acceptedBy, merge, untilEnded } = merging(() => opened)

describe('a mail merge to a list', () => {
  test('leaves out suppressed recipients, and gives each other one an unsubscribe link of their own', async () => {
    const { app, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const suppress = (list: string, address: string) =>
      app.post(`/v1/suppressions/${list}/entries`, { addresses: [address], reason: 'asked' })
    await suppress('global', 'reader-0@example.org')
    await suppress('weekly', 'reader-2@example.org')
    await suppress('other', 'reader-3@example.org')
    const items = await merge(accountId, { listId: 'weekly', entries: readers(5) })
    expect(items.map(({ error }) => error?.reason ?? null)).toEqual([
      'suppressed',
      null,
      'suppressed',
      null,
      null,
    ])
    const entries = await untilEnded(accountId, items[0]!.mailMergeId)
    expect(entries.map(({ status, listId }) => [status, listId])).toEqual(
      Array.from({ length: 3 }, () => ['sent', 'weekly']),
    )
    const links = (await acceptedBy(user.email)).map(
      ({ content }) =>
        /^List-Unsubscribe: <(https:\/\/links\.example\.org\/u\/[^>]+)>/m.exec(
          content.replaceAll('\r\n ', ' '),
        )?.[1],
    )
    expect(new Set(links).size).toBe(3)
    expect(links).not.toContain(undefined)
    await app.delete('/v1/suppressions/global/entries/reader-0@example.org')
  })

  test('creates the list, and refuses fields of its own for unsubscribing', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const later = new Date(Date.now() + 3_600_000).toISOString()
    await merge(accountId, { listId: 'new-list', entries: readers(1), sendAt: later })
    const { body } = await app.get<{ items: Array<{ id: string }> }>('/v1/suppressions')
    expect(body.items.map(({ id }) => id)).toContain('new-list')
    expect(
      await app.post(`/v1/accounts/${accountId}/mail-merges`, {
        text: 'x',
        listId: 'new-list',
        headers: [{ name: 'List-Unsubscribe', value: '<https://example.org>' }],
        entries: readers(1),
      }),
    ).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', data: { issues: [{ path: ['headers', 0, 'name'] }] } },
    })
  })
})

describe('a mail merge of a template', () => {
  test('renders each entry with its own values, and reports entries that cannot be rendered', async () => {
    const { app, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const { body: template } = await app.post<{ id: string }>('/v1/templates', {
      name: 'greeting',
      subject: 'News for {{params.name}}',
      html: '<p>Dear {{params.name}}, <a href="{{rcpt.unsubscribeUrl}}">leave</a> {{#each params.many}}x{{/each}}</p>',
    })
    const entries = [
      { to: { address: 'ada@example.org' }, params: { name: 'Ada <b>' } },
      { to: { address: 'big@example.org' }, params: { name: 'x'.repeat(270_000) } },
      { to: { address: 'long@example.org' }, params: { many: Array.from({ length: 125_000 }, () => 1) } },
      { to: { address: 'bob@example.org' } },
    ]
    const shared = { subject: undefined, text: undefined, listId: 'readers' }
    const items = await merge(accountId, {
      ...shared,
      template: template.id,
      render: { params: { name: 'reader' } },
      entries,
    })
    expect(items.map(({ error }) => error?.reason ?? null)).toEqual([
      null,
      'params_too_large',
      'template_render_failed',
      null,
    ])
    const ended = await untilEnded(accountId, items[0]!.mailMergeId)
    expect(ended.map(({ subject, templateId }) => [subject, templateId]).toReversed()).toEqual([
      ['News for Ada <b>', template.id],
      ['News for reader', template.id],
    ])
    const contents = (await acceptedBy(user.email)).map(({ content }) => content.replaceAll('=\r\n', ''))
    expect(contents.filter(content => content.includes('Dear Ada &lt;b&gt;,'))).toHaveLength(1)
    for (const content of contents) {
      const link = /^List-Unsubscribe: <([^>]+)>/m.exec(content.replaceAll('\r\n ', ' '))?.[1] ?? 'none'
      expect(content).toContain(`href=3D"${link}"`)
    }
  })

  test('is refused as a whole if the template is missing, does not compile, or stands beside content', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const entries = readers(2)
    const refusals: Array<[object, number, string]> = [
      [{ entries, template: newId() }, 422, 'unknown_template'],
      [{ entries, render: { html: '{{#if}}' } }, 400, 'invalid_template'],
      [{ entries, render: { text: 'x' }, html: 'y' }, 400, 'invalid_input'],
    ]
    for (const [body, status, code] of refusals)
      expect(await app.post(`/v1/accounts/${accountId}/mail-merges`, body)).toMatchObject({
        status,
        body: { code },
      })
  })
})

describe('a tracked mail merge', () => {
  test('gives each message links of its own, which lead to the URLs of its HTML', async () => {
    const { app, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const html = '<p><a href="https://example.org/news">News</a></p>'
    const items = await merge(accountId, { html, trackOpens: true, trackClicks: true, entries: readers(3) })
    const entries = await untilEnded(accountId, items[0]!.mailMergeId)
    expect(entries.map(({ trackOpens, trackClicks }) => [trackOpens, trackClicks])).toEqual(
      Array.from({ length: 3 }, () => [true, true]),
    )
    const links = (await acceptedBy(user.email)).map(
      ({ content }) =>
        /https:\/\/links\.example\.org(\/t\/c\/[\w-]+)/.exec(content.replaceAll('=\r\n', ''))?.[1] ?? '',
    )
    expect(new Set(links).size).toBe(3)
    for (const link of links) {
      const answer = await fetch(`${app.address}${link}`, { redirect: 'manual' })
      expect([answer.status, answer.headers.get('location')]).toEqual([302, 'https://example.org/news'])
    }
  })
})
