import { describe, expect, test } from 'vitest'
import { openImapConnection } from '../../../test/imap-connection.ts'
import { startHostileImap } from '../../../test/servers/hostile-imap.ts'
import { searchFrom, searchPresent } from './search.ts'

/** A connection to a mailbox with messages 1 to `count`. The server does something before it carries out a search. */
async function arrange(count: number, disturb: (mailbox: Disturbed) => void) {
  await using opened = new AsyncDisposableStack()
  /** The messages that the client's session numbers, and the ones that are left. */
  let session = Array.from({ length: count }, (_, index) => index + 1)
  const gone = new Set<number>()
  const server = opened.use(
    await startHostileImap(({ command, tag, say }) => {
      if (command.startsWith('EXAMINE')) say(`* ${count} EXISTS`, '* OK [UIDVALIDITY 1] x', `${tag} OK done`)
      const [, low, high, from] = /^UID SEARCH (\d+):(\d+) UID (\d+):\*$/.exec(command)?.map(Number) ?? []
      if (low && high && from) {
        disturb({
          expunge: uids => uids.forEach(uid => gone.add(uid)),
          report() {
            session = session.filter(uid => !gone.has(uid))
            say(`* VANISHED ${[...gone].join()}`)
          },
        })
        const found = session.slice(low - 1, high).filter(uid => uid >= from && !gone.has(uid))
        say(`* SEARCH ${found.join(' ')}`, `${tag} OK done`)
      }
      return /^(?:EXAMINE|UID SEARCH)/.test(command)
    }),
  )
  const { connection } = await openImapConnection(server)
  opened.use(connection)
  await connection.examine('INBOX')
  const owned = opened.move()
  return { connection, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

interface Disturbed {
  expunge(uids: readonly number[]): void
  /** Reports the expunged messages to the client. */
  report(): void
}

const span = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

describe('searchFrom', () => {
  test.each<{ name: string; gone: number[]; isReported: boolean }>([
    { name: 'nothing', gone: [], isReported: false },
    { name: 'an old message', gone: [7], isReported: true },
    { name: 'a new message', gone: [19_000], isReported: true },
    { name: 'a new message that is not reported', gone: [19_000], isReported: false },
    { name: 'messages of each chunk', gone: [7, 9_000, 15_000, 19_999], isReported: true },
    { name: 'all that the first chunk would hold', gone: span(10_001, 20_000), isReported: true },
  ])('finds every new message while others expunge $name', async ({ gone, isReported }) => {
    let searches = 0
    await using arranged = await arrange(20_000, ({ expunge, report }) => {
      if (searches++ > 0) return
      expunge(gone)
      if (isReported) report()
    })
    const left = span(5_001, 20_000).filter(uid => !gone.includes(uid))
    expect([...(await searchFrom(arranged.connection, 5_001, 20_000))]).toEqual(left)
  })

  test('makes one search for a few new messages of a large mailbox', async () => {
    let searches = 0
    await using arranged = await arrange(20_000, () => void searches++)
    expect([...(await searchFrom(arranged.connection, 19_998, 20_000))]).toEqual([19_998, 19_999, 20_000])
    expect(searches).toBe(1)
  })
})

test('a search whose answer is too odd to be read fails: that it found nothing would be wrong', async () => {
  await using server = await startHostileImap(({ command, tag, say }) => {
    if (command.startsWith('UID SEARCH')) say(`* SEARCH ${'1 '.repeat(5_000)}(ODD 1)`, `${tag} OK done`)
    return command.startsWith('UID SEARCH')
  })
  const opened = await openImapConnection(server)
  await using connection = opened.connection
  await connection.examine('INBOX')
  await expect(searchPresent(connection, [1])).rejects.toMatchObject({ kind: 'unavailable' })
})
