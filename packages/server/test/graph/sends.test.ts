import { describe, expect, test } from 'vitest'
import { ignoredSchema } from '../../src/providers/graph/resources.ts'
import { failureOf } from '../../src/providers/conformance/changing-steps.ts'
import { askPython } from '../bodies/ask-python.ts'
import { fileOf, ID, messageTo, MIB, OUTBOX_ID } from './outgoing.ts'
import { type Office, useOffices } from './reach-writing.ts'
import { casesFor } from '../soak.ts'

const openOffice = useOffices()
/** The message as another mailbox of the same cloud got it. */
async function arrivedAt(office: Office) {
  const [message] = await office.list('inbox')
  return askPython([Buffer.from(await office.mime(message.id), 'latin1')])[0]!
}

describe('sends by Graph', () => {
  test('arrive with every field of their header, as Python reads it', async () => {
    await using eva = await openOffice()
    await using finn = await openOffice()
    const message = await messageTo(eva, finn.email)
    const outcome = await eva.sending.send(message)
    expect(outcome.recipients.every(({ refusal }) => refusal === null)).toBe(true)
    expect(message.traces).toEqual([outcome.given.key])
    const arrived = await arrivedAt(finn)
    const fields = new Map(arrived.fields.map(([name, value]) => [name.toLowerCase(), value]))
    expect(Object.fromEntries(fields)).toMatchObject({
      'message-id': ID,
      'in-reply-to': '<first@example.net>',
      references: '<zeroth@example.net> <first@example.net>',
      subject: 'Zahlen für heute',
      'x-one': '1',
      'x-six': '6',
      'auto-submitted': 'auto-generated',
      'feedback-id': 'a:b',
      'list-unsubscribe': '<https://mail.example/u/token>',
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
      'x-waxwing-outbox': OUTBOX_ID,
      importance: 'high',
    })
    expect(fields.has('bcc')).toBe(false)
    expect(arrived.to).toEqual([['Grüße', finn.email]])
    // The copy keeps the id of the draft, and Bcc.
    const [copy] = await eva.list('sentitems')
    expect(copy).toMatchObject({ id: outcome.given.key, isDraft: false, internetMessageId: ID })
    expect(copy.bccRecipients).toHaveLength(1)
    expect(await eva.list('drafts')).toEqual([])
  })

  test('carry files of every size, inline ones among them, byte for byte', async () => {
    await using eva = await openOffice()
    await using finn = await openOffice()
    const attachments = [
      fileOf('small.pdf', 1_000),
      fileOf('größer.pdf', 2 * MIB),
      fileOf('pic.png', 2 * MIB, { contentType: 'image/png', contentId: 'pic@x', isInline: true }),
      fileOf('larger.pdf', 3_100_000),
      fileOf('large.pdf', 7 * MIB),
    ]
    const message = await messageTo(eva, finn.email, { attachments })
    await eva.sending.send(message)
    const { parts, fields } = await arrivedAt(finn)
    const files = parts.filter(({ filename }) => filename !== null)
    expect(files.map(({ filename, type }) => [filename, type]).toSorted()).toEqual([
      ['größer.pdf', 'application/pdf'],
      ['large.pdf', 'application/pdf'],
      ['larger.pdf', 'application/pdf'],
      ['pic.png', 'image/png'],
      ['small.pdf', 'application/pdf'],
    ])
    for (const asked of attachments) {
      const content = Buffer.concat(await Array.fromAsync(asked.open()))
      const file = files.find(({ filename }) => filename === asked.filename)!
      expect(Buffer.from(file.content!, 'base64').equals(content), asked.filename).toBe(true)
    }
    expect(files.find(({ filename }) => filename === 'pic.png')).toMatchObject({ contentId: '<pic@x>' })
    expect(fields.map(([name]) => name.toLowerCase())).toEqual(
      expect.arrayContaining(['x-six', 'in-reply-to', 'x-waxwing-outbox', 'message-id']),
    )
  })

  test.each(casesFor(['lost', 'torn'] as const, does => does === 'lost'))(
    'carry a large file if the answer to a range is %s',
    async does => {
      await using eva = await openOffice()
      await using finn = await openOffice()
      const file = fileOf('large.pdf', 9 * MIB)
      await eva.server.addFault({ does, host: 'outlook.office.com', method: 'PUT', count: 1 })
      const { recipients } = await eva.sending.send(await messageTo(eva, finn.email, { attachments: [file] }))
      expect(recipients.every(({ refusal }) => refusal === null)).toBe(true)
      const arrived = (await arrivedAt(finn)).parts.find(({ filename }) => filename !== null)
      const content = Buffer.concat(await Array.fromAsync(file.open()))
      expect(Buffer.from(arrived!.content!, 'base64').equals(content)).toBe(true)
    },
  )

  test.each(casesFor(['gcc-high', 'dod'] as const, cloud => cloud === 'dod'))(
    'refuse a large file on %s, and make nothing',
    async cloud => {
      await using office = await openOffice(cloud)
      const message = await messageTo(office, 'x@elsewhere.test', { attachments: [fileOf('l.pdf', 4 * MIB)] })
      const { recipients } = await office.sending.send(message)
      expect(recipients[0]?.refusal).toMatchObject({ isTooLarge: true })
      const several = [1, 2, 3].map(number => fileOf(`${number}.pdf`, 2 * MIB))
      const second = await messageTo(office, 'x@elsewhere.test', { attachments: several })
      expect((await office.sending.send(second)).recipients[0]?.refusal).toBeNull()
      expect(await office.list('drafts')).toEqual([])
    },
  )

  test('of an interrupted attempt are made once by the next', async () => {
    await using eva = await openOffice()
    await using finn = await openOffice()
    const stopped = new Error('the process died')
    const first = await messageTo(eva, finn.email)
    const dead = { ...first, beforeHandOver: () => Promise.reject(stopped) }
    await expect(eva.sending.send(dead)).rejects.toBe(stopped)
    // A process that dies removes nothing.
    await eva.api.ask({
      method: 'POST',
      path: 'messages',
      body: {
        type: 'text/plain',
        bytes: Buffer.from(`Message-ID: ${ID}\r\n\r\nHello\r\n`).toString('base64'),
      },
      schema: ignoredSchema,
      accepts: [201],
    })
    expect(await eva.list('drafts')).toHaveLength(1)
    await eva.sending.send({ ...first, mayBePrepared: true })
    // It may have been sent although its answer was lost.
    const again = await eva.sending.send({ ...first, mayBePrepared: true })
    const sent = await eva.list('sentitems')
    expect(sent.map(({ id }) => id)).toEqual([again.given.key])
    expect(await eva.list('drafts')).toEqual([])
    expect(await finn.list('inbox')).toHaveLength(1)
  })

  test('have an unknown outcome if an overloaded server failed', async () => {
    await using eva = await openOffice()
    const message = await messageTo(eva, 'x@elsewhere.test')
    await eva.server.addFault({ does: 'error', status: 509, path: '*/send', count: 1 })
    const failure = await failureOf(eva.sending.send(message))
    expect(failure).toMatchObject({ kind: 'throttled', isBeforeAcceptance: false })
    expect((await eva.list('drafts')).map(({ id }) => id)).toEqual(message.traces)
  })

  test('are looked up by their draft, and by the copy', async () => {
    await using eva = await openOffice()
    const message = await messageTo(eva, 'x@elsewhere.test')
    const { given } = await eva.sending.send(message)
    const handed = (trace: string | null) => ({
      internetMessageId: ID,
      outboxId: OUTBOX_ID,
      trace,
      handedOverAt: new Date(),
    })
    expect(await eva.sending.lookUp(handed(given.key))).toEqual({ outcome: 'accepted', key: given.key })
    expect(await eva.sending.lookUp(handed(null))).toEqual({ outcome: 'accepted', key: given.key })
    const renamed = { ...handed(null), internetMessageId: '<other@example.com>' }
    expect(await eva.sending.lookUp(renamed)).toEqual({ outcome: 'accepted', key: given.key })
    const unknown = { ...renamed, outboxId: 'other' }
    expect(await eva.sending.lookUp(unknown)).toEqual({ outcome: 'not_known' })
  })
})
