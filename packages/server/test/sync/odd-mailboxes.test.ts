import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { expect, test } from 'vitest'
import { type Asked, startHostileImap } from '../servers/hostile-imap.ts'
import { connectMailbox, openSyncApp, readMailboxes, waitForFirstSync } from './followed-account.ts'
import { waitForRuntime } from './proxied-account.ts'

const USER = { user: 'someone', password: 'secret', email: 'someone@odd.example' }

/** Starts a server whose list of mailboxes begins and ends with normal ones. */
function startServer(odd: readonly string[], answer: (asked: Asked) => boolean = () => false) {
  return startHostileImap(asked => {
    if (asked.command !== 'LIST "" "*"') return answer(asked)
    asked.say('* LIST () "/" INBOX', ...odd, '* LIST (\\Noselect) "/" Last', `${asked.tag} OK done`)
    return true
  })
}

test.concurrent('impossible counts are ignored, and hide no mailbox', async () => {
  await using server = await startServer(['* LIST () "/" Huge'], ({ command, tag, say }) => {
    if (!command.startsWith('STATUS "Huge"') && !command.startsWith('STATUS Huge')) return false
    say('* STATUS Huge (MESSAGES 3000000000 UNSEEN 2147483648 UIDNEXT 1 UIDVALIDITY 1)', `${tag} OK done`)
    return true
  })
  await using app = await openSyncApp()
  const accountId = await connectMailbox(app, server, USER)

  await waitForFirstSync(app, accountId)
  await waitForRuntime(app, accountId, 'live', /1 mailbox could not be taken in/)

  const mailboxes = await readMailboxes(app, accountId)
  expect(mailboxes.map(({ name, totalCount, unreadCount }) => [name, totalCount, unreadCount])).toEqual([
    ['Huge', null, null],
    ['INBOX', 0, 0],
    ['Last', null, null],
  ])
})

const noise = (length: number) =>
  Array.from({ length }, (_, at) => String.fromCharCode(0x4e00 + ((at * 7919) % 20_000))).join('')
const utf8 = (text: string) => Buffer.from(text).toString('latin1')

test.concurrent.each<readonly [what: string, lines: string[]]>([
  ['a name of 400 KB', [`* LIST (\\Noselect) "/" "${'x'.repeat(400_000)}"`]],
  ['a name of 400 KB as a literal', [`* LIST (\\Noselect) "/" {400000}`, 'x'.repeat(400_000)]],
  ['a name that no index accepts', [`* LIST (\\Noselect) "/" "${utf8(noise(1000))}"`]],
  ['a thousand levels', [`* LIST (\\Noselect) "/" "${'a/'.repeat(499)}a"`]],
])('a mailbox with %s is left out and reported, and the others are there', async (_, lines) => {
  await using server = await startServer(lines)
  await using app = await openSyncApp()
  const accountId = await connectMailbox(app, server, USER)

  await waitForRuntime(app, accountId, 'live', /1 mailbox could not be taken in/)

  expect((await readMailboxes(app, accountId)).map(({ name }) => name)).toEqual(['INBOX', 'Last'])
})

test('of 10,000 mailboxes with long names, those that fit are indexed, in bounded memory', async () => {
  const names = Array.from({ length: 10_000 }, (_, at) => `${'level/'.repeat(150)}${at}`)
  await using server = await startServer(names.map(name => `* LIST (\\Noselect) "/" "${name}"`))
  await using app = await openSyncApp()
  const before = process.memoryUsage().rss
  const accountId = await connectMailbox(app, server, USER)

  await waitForRuntime(app, accountId, 'live', /mailboxes could not be taken in/)

  const { body } = await app.get<Account>(`/v1/accounts/${accountId}`)
  expect(body.initializedAt).not.toBeNull()
  expect((await readMailboxes(app, accountId)).some(({ name }) => name === 'INBOX')).toBe(true)
  expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024)
})
