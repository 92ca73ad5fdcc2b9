import { describe, expect, test } from 'vitest'
import { composeMessage } from '../../src/features/sending/compose/compose.ts'
import { type Composition } from '../../src/features/sending/compose/composition.ts'
import { envelopeRecipients } from '../../src/features/sending/compose/rules.ts'
import { wireAddress } from '../../src/kit/mail-address.ts'
import { htmlToText } from '../../src/kit/mime/html-to-text.ts'
import { summarize } from '../../src/kit/mime/summary.ts'
import type { Mailbox } from '../../src/kit/mime-writing/fields.ts'
import { askPython, type PythonMessage, type PythonPart } from '../bodies/ask-python.ts'
import { contentOf, parse } from '../bodies/facts.ts'
import { seeded } from '../seeded.ts'
import { hostileBody, hostileComposition } from './hostile-compositions.ts'
import { collect, HANDED_OVER, readCopy, readWire, store } from './read-composed.ts'
import { openSlicedWork } from '../../src/kit/sliced-work.ts'

const inSlices = openSlicedWork()('a')

const SEEDS = 200

/** A text as a reader has it: line breaks are LF, and lone surrogates are replaced. */
const plain = (text: string) => text.toWellFormed().replaceAll(/\r\n|\r/g, '\n')
const oneLine = (text: string) => text.toWellFormed().trim()
const asPairs = (mailboxes: readonly Mailbox[]) =>
  mailboxes.map(({ name, address }) => [oneLine(name ?? ''), wireAddress(address)])

describe('composeMessage, with hostile values', () => {
  test(`writes exactly what was asked, as Python and our reader find it (${SEEDS} messages)`, async () => {
    const asked = Array.from({ length: SEEDS }, (_, seed) => ({
      ...hostileComposition(seeded(`compose ${seed}`)),
      calendar: seed % 3 === 0 ? hostileCalendar(seed) : null,
    }))
    const wires: Buffer[] = []
    const copies: Buffer[] = []
    for (const one of asked) {
      const stored = await store(await composeMessage(one, inSlices), 1 + (wires.length % 97))
      wires.push((await readWire(stored)).raw)
      copies.push(await readCopy(stored))
    }
    const [onWire, inCopy] = [askPython(wires), askPython(copies)]
    for (const [index, one] of asked.entries()) {
      const note = `message ${index}`
      expectFitForSmtp(wires[index]!, note)
      expectHeader(onWire[index]!, one, note)
      expect(onWire[index]!.bcc, note).toEqual([])
      expect(inCopy[index]!.bcc, note).toEqual(asPairs(one.bcc))
      expect(inCopy[index]!.parts, note).toEqual(onWire[index]!.parts)
      await expectParts(onWire[index]!, one, note)
      await expectOurs(copies[index]!, one, note)
    }
  })
})

const hostileCalendar = (seed: number) => ({
  method: 'REQUEST' as const,
  text: hostileBody(seeded(`calendar ${seed}`)),
})

/** 7-bit, CRLF only, and short lines: RFC 5321 section 4.5.3.1.6 and RFC 2045 section 6.7. */
function expectFitForSmtp(raw: Buffer, note: string): void {
  const text = raw.toString('latin1')
  expect(/[^\t\r\n -~]/.exec(text), note).toBeNull()
  expect(/\r(?!\n)|(?<!\r)\n/.exec(text), note).toBeNull()
  expect(text.endsWith('\r\n'), note).toBe(true)
  const body = text.slice(text.indexOf('\r\n\r\n'))
  for (const line of text.split('\r\n')) expect(line.length, `${note}: ${line}`).toBeLessThan(999)
  for (const line of body.split('\r\n')) expect(line.length, `${note}: ${line}`).toBeLessThanOrEqual(78)
  expect(/\n\.|\nFrom /.exec(body), note).toBeNull()
}

function expectHeader(read: PythonMessage, asked: Composition, note: string): void {
  const names = ['Date', 'From']
  if (asked.replyTo.length > 0) names.push('Reply-To')
  if (asked.to.length > 0 || (asked.cc.length === 0 && asked.bcc.length > 0)) names.push('To')
  if (asked.cc.length > 0) names.push('Cc')
  if (oneLine(asked.subject) !== '') names.push('Subject')
  names.push('Message-ID')
  if (asked.inReplyTo) names.push('In-Reply-To')
  if (asked.references.length > 0) names.push('References')
  if (asked.importance === 'high' || asked.importance === 'low') names.push('Importance', 'X-Priority')
  names.push('X-Odd', 'List-Id', 'X-Waxwing-Outbox', 'MIME-Version', 'Content-Type')
  const fields = new Map(read.fields)
  expect(
    [...fields.keys()].filter(name => name !== 'Content-Transfer-Encoding'),
    note,
  ).toEqual(names)
  expect(read.from, note).toEqual(asPairs([asked.from]))
  const undisclosed = asked.to.length + asked.cc.length === 0 && asked.bcc.length > 0
  if (!undisclosed) expect(read.to, note).toEqual(asPairs(asked.to))
  expect(read.cc, note).toEqual(asPairs(asked.cc))
  expect(read.replyTo, note).toEqual(asPairs(asked.replyTo))
  expect(read.date, note).toBe(HANDED_OVER.getTime() / 1000)
  expect(read.subject || '', note).toBe(oneLine(asked.subject))
  expect(fields.get('References')?.toString().split(/\s+/) ?? [], note).toEqual(asked.references)
  for (const { name, value } of asked.headers) expect(fields.get(name), note).toBe(oneLine(value))
  // Its recipients are the people who are named in it.
  const named = [read.to ?? [], read.cc ?? [], asPairs(asked.bcc)].flat().map(([, address]) => address!)
  const envelope = envelopeRecipients(asked.to, asked.cc, asked.bcc)
  if (!undisclosed) expect(new Set(envelope.map(lower)), note).toEqual(new Set(named.map(lower)))
}

const lower = (value: string) => value.toLowerCase()

const fileOf = ({ type, filename, disposition, contentId, content }: PythonPart) => ({
  type,
  filename,
  disposition,
  contentId,
  content,
})

async function expectParts(read: PythonMessage, asked: Composition, note: string): Promise<void> {
  const [text, ...rest] = read.parts
  const bodies = asked.html === null ? [] : [rest.shift()!]
  const plainText = asked.text ?? htmlToText(asked.html ?? '')
  expect(unended(text!.text), note).toBe(unended(plain(plainText)))
  for (const body of bodies) expect(plain(body.text!), note).toBe(plain(asked.html!))
  if (asked.calendar) {
    const { type, content } = rest.shift()!
    expect(type, note).toBe('text/calendar')
    expect(plain(Buffer.from(content ?? '', 'base64').toString('utf8')), note).toBe(
      plain(asked.calendar.text),
    )
  }
  const isShown = (index: number) =>
    asked.html !== null && asked.attachments[index]!.isInline && asked.attachments[index]!.contentId !== null
  const order = asked.attachments.map((_, index) => index)
  const inOrder = [...order.filter(isShown), ...order.filter(index => !isShown(index))]
  const files = inOrder.map(async index => {
    const file = asked.attachments[index]!
    return {
      type: file.contentType,
      filename: file.filename === null ? null : oneLine(file.filename),
      disposition: file.isInline ? 'inline' : 'attachment',
      contentId: file.contentId === null ? null : `<${file.contentId}>`,
      content: (await collect(file.open())).toString('base64'),
    }
  })
  expect(rest.map(fileOf), note).toEqual(await Promise.all(files))
}

/** SMTP ends every message with a line break. */
const unended = (text: string | null) => plain(text ?? '').replace(/\n$/, '')

async function expectOurs(copy: Buffer, asked: Composition, note: string): Promise<void> {
  const { subject, from, to, bcc, internetMessageId, importance } = summarize(copy)
  const pair = ({ name, address }: Mailbox) => [oneLine(name ?? ''), wireAddress(address)]
  expect(subject ?? '', note).toBe(oneLine(asked.subject))
  expect(pair(from!), note).toEqual(pair(asked.from))
  expect(to.map(pair), note).toEqual(asPairs(asked.to))
  expect(bcc.map(pair), note).toEqual(asPairs(asked.bcc))
  expect(internetMessageId, note).toBe(asked.internetMessageId)
  expect(importance, note).toBe(asked.importance ?? 'normal')
  const { hasAttachments, attachments } = parse(copy, 61)
  const { hasAttachments: announced } = await composeMessage(asked, inSlices)
  const isPlainFile = asked.attachments.every(({ contentType }) => !contentType.startsWith('text/'))
  if (!isPlainFile || asked.calendar) return
  expect(hasAttachments, note).toBe(announced)
  const contents = attachments.map(part => contentOf(copy, part).toString('base64')).toSorted()
  const expected = await Promise.all(
    asked.attachments.map(async file => (await collect(file.open())).toString('base64')),
  )
  expect(contents, note).toEqual(expected.toSorted())
}
