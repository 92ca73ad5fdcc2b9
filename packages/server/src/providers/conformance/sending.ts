import { describe, expect, test } from 'vitest'
import type { ConnectedAccount, Offering } from '../connected-account.ts'
import type { OutgoingContent, OutgoingMessage, RecipientOutcome } from '../sending.ts'

/** One account that may send, and the fate of its mail. */
export interface SendingArrangement extends AsyncDisposable {
  from: string
  /** Two addresses whose mail can be read. */
  recipients: readonly [string, string]
  connect(): Promise<ConnectedAccount & Offering<'sending'>>
  /** Waits for this many messages of a recipient, and returns all that came, each byte one character. */
  arrived(address: string, count: number): Promise<string[]>
}

/** The same at a provider that answers for each recipient of an envelope. */
export interface EnvelopeArrangement extends SendingArrangement {
  /** An address that is always refused. */
  unknown: string
  /** An address that is refused for the time being. */
  greylisted: string
  /** Bytes of a message that the server takes, about 100,000. */
  messageBytesMax: number
}

export const CRLF = '\r\n'

export function contentOf(text: string | Buffer, pieceBytes = 65_536): OutgoingContent {
  const bytes = Buffer.from(text)
  return {
    byteLength: bytes.length,
    is8Bit: bytes.some(byte => byte > 127),
    hasUtf8Header: false,
    async *open() {
      for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
    },
  }
}

// With every field that a server adds where it is missing.
export const letterOf = (
  id: string,
  body: string,
  { from, to }: { from: string; to: readonly string[] } = {
    from: 'ada@example.com',
    to: ['bob@example.com'],
  },
) =>
  `Date: Mon, 1 Jan 2024 10:00:00 +0000${CRLF}From: Ada <${from}>${CRLF}To: ${to.join(', ')}${CRLF}Subject: ${id}${CRLF}Message-ID: <${id}@example.com>${CRLF}${CRLF}${body}`

export function outgoing(from: string, to: readonly string[], content: OutgoingContent): OutgoingMessage {
  return {
    envelope: { from, to },
    content,
    internetMessageId: '<entry-1@example.com>',
    outboxId: 'entry-1',
    mayBePrepared: false,
    beforePreparing: async () => {},
    envelopeId: 'entry-1',
    threadId: null,
    beforeHandOver: async () => {},
    signal: new AbortController().signal,
  }
}

const accepted = (address: string): RecipientOutcome => ({ address, refusal: null })
const refused = (address: string, isPermanent: boolean, of = 'recipient') => ({
  address,
  refusal: expect.objectContaining({ of, isPermanent }),
})

/** Sends a message whose content is damaged, or not as long as it says, and expects only the next one to arrive. */
async function expectDamaged(arranged: SendingArrangement, body: string, addedBytes = 0): Promise<void> {
  const { from, recipients } = arranged
  const [address] = recipients
  const content = contentOf(letterOf('damaged', body, { from, to: [address] }))
  {
    await using account = await arranged.connect()
    const message = outgoing(from, [address], { ...content, byteLength: content.byteLength + addedBytes })
    expect((await account.sending.send(message)).recipients).toEqual([refused(address, true, 'message')])
  }
  await expectNextAlone(arranged)
}

/** Sends the next message, and expects nothing of the one before it. */
async function expectNextAlone(arranged: SendingArrangement): Promise<void> {
  const { from, recipients } = arranged
  const [address] = recipients
  await using account = await arranged.connect()
  const content = contentOf(letterOf('whole', `hello${CRLF}`, { from, to: [address] }))
  await account.sending.send(outgoing(from, [address], content))
  const arrived = await arranged.arrived(address, 1)
  expect(arrived.map(text => /^Subject: (.*)\r$/m.exec(text)?.[1])).toEqual(['whole'])
}

/** Contract of every adapter that hands messages over. */
export function describeSending(open: () => Promise<SendingArrangement>): void {
  describe('sending', () => {
    test('hands over the content, in pieces of any size', async () => {
      await using arranged = await open()
      const { from, recipients } = arranged
      await using account = await arranged.connect()
      const lines = ['.', '..', '.dot', 'a.', `.${'x'.repeat(990)}`, '', 'grün', '.', '']
      const contents = [1, 2, 7, 65_536].map(pieceBytes => {
        const body = `${pieceBytes}${CRLF}${lines.join(CRLF)}`
        const text = letterOf(`pieces-${pieceBytes}`, body, { from, to: recipients })
        // A provider that reads the header may write it again.
        const end = account.sending.limits.readsHeader ? `${CRLF}${CRLF}${body}` : text
        return { end: Buffer.from(end).toString('latin1'), content: contentOf(text, pieceBytes) }
      })

      for (const { content } of contents) {
        const outcome = await account.sending.send(outgoing(from, recipients, content))
        expect(outcome.recipients).toEqual(recipients.map(accepted))
      }

      for (const address of recipients) {
        const arrived = await arranged.arrived(address, contents.length)
        for (const { end } of contents) expect(arrived.filter(one => one.endsWith(end))).toHaveLength(1)
      }
    })

    test('waits for the caller before it hands over, and hands nothing over if the caller refuses', async () => {
      await using arranged = await open()
      const { from, recipients } = arranged
      const [address] = recipients
      const content = contentOf(letterOf('refused', `never${CRLF}`, { from, to: [address] }))
      const change = new Error('not now')
      {
        await using account = await arranged.connect()
        const sent = account.sending.send({
          ...outgoing(from, [address], content),
          beforeHandOver: () => Promise.reject(change),
        })
        await expect(sent).rejects.toBe(change)
      }
      await using account = await arranged.connect()
      const events: string[] = []
      const pause = Promise.withResolvers<void>()
      const called = Promise.withResolvers<void>()
      const sent = account.sending
        .send({
          ...outgoing(from, [address], contentOf(letterOf('awaited', `now${CRLF}`, { from, to: [address] }))),
          async beforeHandOver() {
            called.resolve()
            await pause.promise
            events.push('may go')
          },
        })
        .then(() => events.push('sent'))
      await called.promise
      pause.resolve()
      await sent

      expect(events).toEqual(['may go', 'sent'])
      const arrived = await arranged.arrived(address, 1)
      expect(arrived.map(text => /^Subject: (.*)\r$/m.exec(text)?.[1])).toEqual(['awaited'])
    })

    test.each([
      [
        'fails',
        async function* () {
          yield Buffer.from(letterOf('half', 'hello\r\n.'))
          throw new Error('the disk is gone')
        },
      ],
    ])('hands nothing over if the content %s', async (_, stream) => {
      await using arranged = await open()
      const { from, recipients } = arranged
      const [address] = recipients
      {
        await using account = await arranged.connect()
        const content = {
          ...contentOf(letterOf('half', 'x'.repeat(500), { from, to: [address] })),
          open: stream,
        }
        await expect(account.sending.send(outgoing(from, [address], content))).rejects.toThrow(
          'the disk is gone',
        )
      }
      await expectNextAlone(arranged)
    })

    test.each([
      ['fewer bytes than it says', `one${CRLF}`, 1],
      ['more bytes than it says', `one${CRLF}`, -1],
    ])('refuses content with %s for good', async (_, body, added) => {
      await using arranged = await open()
      await expectDamaged(arranged, body, added)
    })

    test('gives up before the hand-over when it is aborted', async () => {
      await using arranged = await open()
      const { from, recipients } = arranged
      await using account = await arranged.connect()
      const stop = new AbortController()
      const letter = letterOf('stopped', `hello${CRLF}`, { from, to: recipients })
      const content: OutgoingContent = {
        ...contentOf(letter),
        async *open() {
          stop.abort()
          yield Buffer.from(letter)
        },
      }

      const sent = account.sending.send({
        ...outgoing(from, recipients, content),
        signal: stop.signal,
        beforeHandOver: () => Promise.reject(new Error('called')),
      })

      await expect(sent).rejects.toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
    })
  })
}

/** Contract of every adapter that hands an envelope over, and bytes as they are. */
export function describeEnvelopes(open: () => Promise<EnvelopeArrangement>): void {
  describe('sending by envelopes', () => {
    test('reports the outcome of each recipient, and sends to the accepted ones', async () => {
      await using arranged = await open()
      const { from, recipients, unknown, greylisted } = arranged
      await using account = await arranged.connect()
      const to = [unknown, recipients[0], greylisted, recipients[1]]

      const { recipients: outcomes } = await account.sending.send(
        outgoing(from, to, contentOf(letterOf('some', `hello${CRLF}`))),
      )

      expect(outcomes).toEqual([
        refused(unknown, true),
        accepted(recipients[0]),
        refused(greylisted, false),
        accepted(recipients[1]),
      ])
      expect(outcomes[0]?.refusal?.status).toBe('5.1.1')
      expect(outcomes[2]?.refusal?.status).toBe('4.2.0')
      for (const address of recipients) expect(await arranged.arrived(address, 1)).toHaveLength(1)
    })

    test('hands nothing over if no recipient is accepted, and sends the next message', async () => {
      await using arranged = await open()
      const { from, recipients, unknown, greylisted } = arranged
      await using account = await arranged.connect()
      let handedOver = 0
      const beforeHandOver = async () => void handedOver++
      const send = (to: string[], id: string) =>
        account.sending.send({
          ...outgoing(from, to, contentOf(letterOf(id, `hello${CRLF}`))),
          beforeHandOver,
        })

      expect((await send([unknown, greylisted], 'none')).recipients).toEqual([
        refused(unknown, true),
        refused(greylisted, false),
      ])
      expect(handedOver).toBe(0)

      expect((await send([recipients[0]], 'next')).recipients).toEqual([accepted(recipients[0])])
      expect(handedOver).toBe(1)
      expect(await arranged.arrived(recipients[0], 1)).toHaveLength(1)
    })

    test.each([
      ['a bare LF before a dot', `one\n.${CRLF}two${CRLF}`],
      ['a dot between bare LFs', `one\n.\nMAIL FROM:<x@example.com>\ntwo${CRLF}`],
      ['a bare CR', `one\r.\rtwo${CRLF}`],
      ['a CR at its end', `one\r`],
    ])('refuses content with %s for good', async (_, body) => {
      await using arranged = await open()
      await expectDamaged(arranged, body)
    })

    test('refuses a message that is larger than the server takes before it sends any of it', async () => {
      await using arranged = await open()
      const { from, recipients, messageBytesMax } = arranged
      const [address] = recipients
      await using account = await arranged.connect()
      const line = `${'x'.repeat(70)}${CRLF}`
      const content = contentOf(letterOf('large', line.repeat(Math.ceil(messageBytesMax / line.length))))

      const { recipients: outcomes } = await account.sending.send(outgoing(from, [address], content))

      expect(outcomes).toEqual([
        { address, refusal: expect.objectContaining({ isTooLarge: true, isPermanent: true, of: 'message' }) },
      ])
    })
  })
}
