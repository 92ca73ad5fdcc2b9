import { describe, expect, test } from 'vitest'
import { openProxiedMailbox, TAGGED } from '../../../../test/changing/proxied-mailbox.ts'
import type { Faults } from '../../../../test/servers/chaos-faults.ts'
import type { ChaosProxy } from '../../../../test/servers/chaos-proxy.ts'
import { startDovecot } from '../../../../test/servers/dovecot.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'
import { letter, letters } from '../../conformance/arrangement.ts'
import { draftOf } from '../../conformance/changing-messages.ts'
import { all, failureOf } from '../../conformance/changing-steps.ts'
import type { ChangedMessage } from '../../changing.ts'

const server = useServer(() => startDovecot())
const arrange = (faults?: Faults) => openProxiedMailbox(server(), faults)

/** Adds a line before the answer to each such command, as often as there are lines. */
function sayBefore(proxy: ChaosProxy, command: RegExp, lines: string[]): void {
  proxy.faults = {
    rewrite(line) {
      const isAnswer = TAGGED.test(line) && command.test(proxy.stats.lines.at(-1) ?? '')
      return isAnswer && lines.length > 0 ? `${lines.shift()}\r\n${line}` : line
    },
  }
}

describe.concurrent('a mark that a server does not keep', () => {
  test('is refused before anything is changed', async () => {
    await using arranged = await arrange({
      rewrite: line => line.replace(/\[PERMANENTFLAGS .*\\\*\)\]/, '[PERMANENTFLAGS (\\Seen \\Deleted)]'),
    })
    const keys = await arranged.world.deliver(letters(1))
    await using account = await arranged.connect()
    const at = await arranged.inInbox(keys)
    const change = (named: object) => all(account.changing.changeFlags(at, named))

    for (const named of [{ addCategories: ['work'] }, { isFlagged: true }])
      expect(await failureOf(change({ ...named, isRead: true }))).toMatchObject({
        kind: 'unsupported',
        isBeforeAcceptance: true,
      })
    expect(arranged.proxy.stats.commands.get('UID STORE')).toBeUndefined()
    const [changed] = await change({ isRead: true, isAnswered: true, isForwarded: true })
    expect(changed?.changed[0]?.flags.isRead).toBe(true)
  })

  test('is forbidden in a mailbox that is only for reading', async () => {
    await using arranged = await arrange({ rewrite: line => line.replace('[READ-WRITE]', '[READ-ONLY]') })
    const keys = await arranged.world.deliver(letters(1))
    await using account = await arranged.connect()
    const removing = all(account.changing.remove(await arranged.inInbox(keys)))
    expect(await failureOf(removing)).toMatchObject({ kind: 'forbidden', isBeforeAcceptance: true })
  })
})

test.concurrent('keys of a mailbox without a cursor, which may be void, are neither changed nor read', async () => {
  await using arranged = await arrange()
  const keys = await arranged.world.deliver(letters(2))
  await arranged.world.createMailbox('Kept')
  await using account = await arranged.connect()
  const { changing, content } = account
  const at = { source: 'INBOX', cursor: null, keys }
  const draft = { former: { ...at, key: keys[0]! }, draftKey: null, internetMessageId: null }
  const whole = { part: null, isHeader: false, offset: 0, end: null, size: null }

  const asked = [
    () => all(changing.changeFlags(at, { isRead: true })),
    () => all(changing.move(at, 'Kept')),
    () => all(changing.remove(at)),
    () => changing.removeDraft({ ...draft, mailboxKey: 'INBOX', others: [] }),
    () => content.open({ ...at, key: keys[0]! }, whole).next(),
    () => content.readSources(at, 1_000),
  ]
  for (const ask of asked) expect(await failureOf(ask())).toMatchObject({ kind: 'unavailable' })

  expect(await arranged.uids('INBOX')).toEqual(keys)
})

describe.concurrent('answers that lie or are missing', () => {
  test('flags are fetched if STORE does not return them', async () => {
    await using arranged = await arrange()
    const { proxy } = arranged
    proxy.faults = {
      rewrite: line =>
        / FETCH /.test(line) && proxy.stats.lines.at(-1)?.startsWith('UID STORE') ? null : line,
    }
    const keys = await arranged.world.deliver(letters(3))
    await using account = await arranged.connect()
    const at = await arranged.inInbox(keys)
    const [batch] = await all(account.changing.changeFlags(at, { isFlagged: true }))
    expect(batch?.changed.map(({ key, flags }) => [key, flags.isFlagged])).toEqual(
      keys.map(key => [key, true]),
    )
  })

  test.each([
    ['more than was moved', 'COPYUID 7 1:4294967295 1:4294967295'],
    ['sets that do not correspond', 'COPYUID 7 1:2 1:9'],
    ['one number for two messages', 'COPYUID 7 1:2 9,9'],
    ['zero', 'COPYUID 7 1:2 0:1'],
    ['nonsense', 'COPYUID x y'],
    ['nothing', 'HIGHESTMODSEQ 9'],
  ])('COPYUID with %s gives no new keys', async (_, code) => {
    await using arranged = await arrange({ rewrite: line => line.replace(/\[COPYUID [^\]]*\]/, `[${code}]`) })
    await arranged.world.createMailbox('Kept')
    const keys = await arranged.world.deliver(letters(2))
    await using account = await arranged.connect()
    const [batch] = await all(account.changing.move(await arranged.inInbox(keys), 'Kept'))
    expect(batch).toMatchObject({ moved: keys.map(key => ({ key, location: null })), gone: [] })
    expect(await arranged.raws('Kept')).toEqual([letter(1), letter(2)])
  })

  test('APPENDUID that is missing is made up for by a search', async () => {
    await using arranged = await arrange({ hiddenCodes: ['APPENDUID'] })
    await using account = await arranged.connect()
    const added = await account.changing.addMessage('INBOX', draftOf('INBOX', 1).message)
    expect(added.location?.key).toBe((await arranged.uids('INBOX'))[0])
  })
})

describe.concurrent('a mark beside the marks of another client', () => {
  test('is made again if the server once returns the former flags', async () => {
    await using arranged = await arrange()
    const keys = await arranged.world.deliver(letters(300))
    await using account = await arranged.connect()
    sayBefore(arranged.proxy, /^UID STORE/, [`* 1 FETCH (UID ${keys[0]} FLAGS ())`])

    const batches = await all(account.changing.changeFlags(await arranged.inInbox(keys), { isRead: true }))

    const changed = batches.flatMap(batch => batch.changed)
    expect(changed.map(({ key }) => key)).toEqual(keys)
    expect(changed.filter(({ flags }) => !flags.isRead)).toEqual([])
  })

  test('is a conflict if another client takes it away again and again, and the others are made', async () => {
    await using arranged = await arrange()
    const keys = await arranged.world.deliver(letters(300))
    await using account = await arranged.connect()
    let modseq = 1_000_000
    const taken = new RegExp(`^\\* \\d+ FETCH .*\\bUID ${keys[0]}\\b`)
    arranged.proxy.faults = {
      rewrite: line =>
        taken.test(line)
          ? line
              .replace(/ ?MODSEQ \(\d+\)/, '')
              .replace(/FLAGS \([^)]*\)/, () => `FLAGS () MODSEQ (${(modseq += 1)})`)
          : line,
    }

    const changed: ChangedMessage[] = []
    const change = async () => {
      for await (const batch of account.changing.changeFlags(await arranged.inInbox(keys), { isRead: true }))
        changed.push(...batch.changed)
    }
    expect(await failureOf(change())).toMatchObject({ kind: 'conflict' })
    expect(changed.filter(({ flags }) => flags.isRead).map(({ key }) => key)).toEqual(keys.slice(1))
  })
})

describe.concurrent('a server that reports late which messages left', () => {
  /** Shows the messages until the next NOOP after the command. */
  function tellLate({ proxy }: { proxy: ChaosProxy }, command: RegExp, keys: readonly number[]): void {
    const unreported: string[] = []
    proxy.faults = {
      hiddenCodes: ['COPYUID'],
      rewrite(line) {
        const last = proxy.stats.lines.at(-1) ?? ''
        if (command.test(last) && /^\* (?:\d+ EXPUNGE|VANISHED)/.test(line)) {
          unreported.push(line)
          return null
        }
        if (unreported.length === 0) return line
        if (last === 'NOOP' && TAGGED.test(line)) return [...unreported.splice(0), line].join('\r\n')
        return line.replace(/^(\* ESEARCH .*\bUID\b).*/, `$1 ALL ${keys.join(',')}`)
      },
    }
  }

  test('has moved them, without their new locations', async () => {
    await using arranged = await arrange()
    await arranged.world.createMailbox('Kept')
    const keys = await arranged.world.deliver(letters(3))
    await using account = await arranged.connect()
    tellLate(arranged, /^UID MOVE/, keys)

    const batches = await all(account.changing.move(await arranged.inInbox(keys), 'Kept'))

    const moved = batches.flatMap(batch => batch.moved)
    expect(moved.map(({ key, location }) => [key, location])).toEqual(keys.map(key => [key, null]))
    expect(batches.flatMap(({ gone }) => gone)).toEqual([])
    expect((await arranged.uids('Kept')).length).toBe(3)
  })

  test('has removed them', async () => {
    await using arranged = await arrange()
    const keys = await arranged.world.deliver(letters(3))
    await using account = await arranged.connect()
    tellLate(arranged, /^UID EXPUNGE/, keys)

    const batches = await all(account.changing.remove(await arranged.inInbox(keys)))

    expect(batches).toEqual([{ removed: keys, gone: [] }])
    expect(await arranged.uids('INBOX')).toEqual([])
  })
})

describe.concurrent('a list of mailboxes', () => {
  test('may spell the new name of a mailbox in its own way', async () => {
    await using arranged = await arrange()
    await arranged.world.createMailbox('Work')
    await using account = await arranged.connect()
    arranged.proxy.faults = {
      rewrite: line => (line.startsWith('* LIST ') ? line.replace('PROJECTS', 'Projects') : line),
    }

    const renamed = await account.changing.renameMailbox('Work', { name: 'PROJECTS' })

    expect(renamed).toMatchObject([{ formerKey: 'Work', mailbox: { key: 'Projects', name: 'Projects' } }])
  })

  test.each([
    [1, ['Projects']],
    [Number.POSITIVE_INFINITY, []],
  ])('may lack a mailbox that was renamed %d times', async (times, names) => {
    await using arranged = await arrange()
    await arranged.world.createMailbox('Work')
    await using account = await arranged.connect()
    let left = times
    arranged.proxy.faults = {
      rewrite(line) {
        if (left === 0 || !/^\* LIST .*Projects/.test(line)) return line
        left -= 1
        return null
      },
    }

    const renamed = await account.changing.renameMailbox('Work', { name: 'Projects' })

    expect(renamed.map(({ mailbox }) => mailbox.name)).toEqual(names)
  })

  test.each([1, Number.POSITIVE_INFINITY])('may show a deleted mailbox %d times', async times => {
    await using arranged = await arrange()
    const { proxy, world } = arranged
    await world.createMailbox('Work')
    await using account = await arranged.connect()
    let left = times
    proxy.faults = {
      rewrite(line) {
        const isLate = proxy.stats.commands.has('DELETE') && proxy.stats.lines.at(-1)?.startsWith('LIST')
        if (!isLate || !TAGGED.test(line) || left === 0) return line
        left -= 1
        return `* LIST (\\HasNoChildren) "/" Work\r\n${line}`
      },
    }

    expect(await account.changing.deleteMailbox('Work')).toEqual([])

    expect(proxy.stats.commands.get('UNSUBSCRIBE')).toBe(1)
  })
})
