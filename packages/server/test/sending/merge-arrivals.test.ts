import type { MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import { expect, test } from 'vitest'
import { askPython } from '../bodies/ask-python.ts'
import { openTestApp } from '../open-app.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startPostfix } from '../servers/postfix.ts'
import { openWorld, type World } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender } from './open-sending.ts'

/** `npm run soak` sends more. */
const ENTRIES = Number(process.env['WAXWING_TEST_MERGE'] ?? 30)
/** How many the entries are divided among. */
const READERS = 4

const nameOf = (nth: number) => `Reader ${nth} ${['Müller', "O'Brien", '<b>&', '日本'][nth % 4]}`

test(`a merge of ${ENTRIES} arrives through Postfix as it was asked for`, { timeout: 900_000 }, async () => {
  await using dovecot = await startDovecot()
  await using postfix = await startPostfix(dovecot)
  const sender = await dovecot.addUser()
  const readers = await Promise.all(Array.from({ length: READERS }, () => dovecot.addUser()))
  await using app = await openTestApp({
    roles: ['api', 'jobs'],
    egressAllow: ['127.0.0.1/32'],
    allowPlaintext: true,
  })
  const accountId = await connectSender(app, { imap: dovecot, sink: postfix }, { user: sender })
  const logo = Buffer.from('a logo')
  const terms = Buffer.alloc(50_000, 'The terms. ')
  const { status, body } = await app.post<{ items: MergeItem[] }>(`/v1/accounts/${accountId}/mail-merges`, {
    render: {
      subject: 'For {{params.name}}',
      html: '<p>Dear {{params.name}}, <img src="cid:logo"></p>{{#each params.items}}<p>{{this}}</p>{{/each}}',
    },
    replyTo: [{ address: 'answers@example.org' }],
    headers: [{ name: 'X-Campaign', value: 'autumn' }],
    attachments: [
      {
        filename: 'logo.png',
        contentType: 'image/png',
        contentId: 'logo',
        isInline: true,
        content: logo.toString('base64'),
      },
      { filename: 'terms.txt', contentType: 'text/plain', content: terms.toString('base64') },
    ],
    entries: Array.from({ length: ENTRIES }, (_, nth) => ({
      to: { name: nameOf(nth), address: readers[nth % READERS]!.email },
      params: { name: nameOf(nth), items: [`item ${nth}`] },
    })),
  })
  expect({ status, failed: body.items.filter(({ error }) => error !== null) }).toEqual({
    status: 200,
    failed: [],
  })

  const arrived = new Map<string, Buffer>()
  for (const [at, reader] of readers.entries()) {
    await using world = await openWorld(dovecot, reader)
    const expected = Array.from({ length: ENTRIES }, (_, nth) => nth).filter(
      nth => nth % READERS === at,
    ).length
    await waitUntil(
      `${expected} messages of a reader`,
      async () => (await world.uids('INBOX')).length >= expected,
      600,
    )
    for (const raw of await readAll(world)) {
      const id = /^X-Waxwing-Outbox: (\S+)/m.exec(raw.toString('latin1'))?.[1] ?? ''
      expect(arrived.has(id)).toBe(false)
      arrived.set(id, raw)
    }
  }
  expect(arrived.size).toBe(ENTRIES)
  const read = askPython(body.items.map(({ outboxId }) => arrived.get(outboxId ?? '')!))
  for (const [nth, message] of read.entries()) {
    const name = nameOf(nth)
    expect(message).toMatchObject({
      subject: `For ${name}`,
      to: [[name, readers[nth % READERS]!.email]],
      replyTo: [['', 'answers@example.org']],
    })
    expect(message.fields).toContainEqual(['X-Campaign', 'autumn'])
    const [text, html, image, file] = message.parts.filter(({ content }) => content !== null)
    expect(text!.text).toContain(`Dear ${name},`)
    expect(html!.text).toContain(`<p>item ${nth}</p>`)
    expect(image).toMatchObject({ contentId: '<logo>', content: logo.toString('base64') })
    expect(file).toMatchObject({ filename: 'terms.txt', content: terms.toString('base64') })
  }
})

async function readAll(world: World): Promise<Buffer[]> {
  const { untagged } = await world.witness.command('UID FETCH 1:* (BODY.PEEK[])')
  return untagged.flatMap(([, kind, values]) =>
    kind === 'FETCH' ? (values as unknown[]).filter(value => Buffer.isBuffer(value)) : [],
  )
}
