import { describe, expect, test } from 'vitest'
import { BARE_SERVER, type Faults } from '../../../../test/servers/chaos-faults.ts'
import { type ChaosProxy, startChaosProxy } from '../../../../test/servers/chaos-proxy.ts'
import { startDovecot } from '../../../../test/servers/dovecot.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'
import { openWorld } from '../../../../test/servers/world.ts'
import { letter, letters } from '../../conformance/arrangement.ts'
import { all, failureOf } from '../../conformance/changing-steps.ts'
import { draftOf } from '../../conformance/changing-messages.ts'
import type { ChangedMessage } from '../../changing.ts'
import { imapAccount } from '../mail.ts'
import { Suspicions } from '../suspicions.ts'

const server = useServer(() => startDovecot())

/** A user's world, and what changes it over a proxy that makes trouble. */
async function arrange(faults: Faults = {}) {
  const user = await server().addUser()
  const world = await openWorld(server(), user)
  const proxy = await startChaosProxy(server(), faults)
  const connect = () =>
    imapAccount({
      endpoint: { addresses: [proxy.host], servername: 'localhost', port: proxy.port, security: 'none' },
      login: user,
      suspicions: new Suspicions(),
      signal: new AbortController().signal,
    })
  const uids = async (mailbox: string) => {
    await world.uids(mailbox)
    // Only now does the server report everything to the session.
    await world.witness.command('NOOP')
    return world.uids(mailbox)
  }
  return {
    world,
    proxy,
    connect,
    uids,
    async raws(mailbox: string) {
      if ((await uids(mailbox)).length === 0) return []
      const { untagged } = await world.witness.command('UID FETCH 1:* (BODY.PEEK[])')
      return untagged
        .filter(([, name]) => name === 'FETCH')
        .map(([, , list]) => (list as unknown[]).find(Buffer.isBuffer)?.toString())
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

const TAGGED = /^[0-9A-F]+ (?:OK|NO|BAD)\b/

/** Lets the server carry out the next such command, and loses its answer together with the connection. */
function loseAnswer(proxy: ChaosProxy, command: RegExp, faults: Faults = {}): void {
  proxy.faults = {
    ...faults,
    rewrite(line) {
      if (!TAGGED.test(line) || !command.test(proxy.stats.lines.at(-1) ?? '')) return line
      proxy.faults = faults
      proxy.cutAll()
      return null
    },
  }
}

/** Adds a line before the answer to each such command, as often as there are lines. */
function sayBefore(proxy: ChaosProxy, command: RegExp, lines: string[]): void {
  proxy.faults = {
    rewrite(line) {
      const isAnswer = TAGGED.test(line) && command.test(proxy.stats.lines.at(-1) ?? '')
      return isAnswer && lines.length > 0 ? `${lines.shift()}\r\n${line}` : line
    },
  }
}

const WITHOUT_MOVE: Faults = { hiddenCapabilities: ['MOVE'] }

describe('a lost answer', () => {
  test.each([
    ['MOVE', {}, /^UID MOVE/],
    ['COPY', WITHOUT_MOVE, /^UID COPY/],
    ['STORE', WITHOUT_MOVE, /^UID STORE/],
    ['UID EXPUNGE', WITHOUT_MOVE, /^UID EXPUNGE/],
    ['COPY without UIDPLUS', BARE_SERVER, /^UID COPY/],
    ['STORE without UIDPLUS', BARE_SERVER, /^UID STORE/],
    ['EXPUNGE without UIDPLUS', BARE_SERVER, /^EXPUNGE/],
  ] as const)('to %s neither loses nor doubles a message that is moved again', async (_, faults, command) => {
    await using arranged = await arrange(faults)
    await arranged.world.createMailbox('Kept')
    const keys = await arranged.world.deliver(letters(3))
    const at = { source: 'INBOX', cursor: null, keys: keys.slice(0, 2) }
    loseAnswer(arranged.proxy, command, faults)

    await using broken = await arranged.connect()
    const failure = await failureOf(all(broken.changing.move(at, 'Kept')))
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
    await using again = await arranged.connect()
    await all(again.changing.move(at, 'Kept'))

    expect(await arranged.raws('Kept')).toEqual([letter(1), letter(2)])
    expect(await arranged.raws('INBOX')).toEqual([letter(3)])
  })

  test.each([/^APPEND/, /^UID SEARCH/, /^UID STORE/, /^UID EXPUNGE/])(
    'to %s leaves one draft, of the new content, when it is replaced again',
    async command => {
      await using arranged = await arrange()
      await using first = await arranged.connect()
      await first.changing.addDraft(draftOf('INBOX', 1), true)
      const replacement = { ...draftOf('INBOX', 2), former: null, draftKey: null, others: [] }
      loseAnswer(arranged.proxy, command)

      await using broken = await arranged.connect()
      await broken.changing.replaceDraft(replacement).catch(() => null)
      expect((await arranged.raws('INBOX')).length).toBeGreaterThan(0)
      await using again = await arranged.connect()
      const outcome = await again.changing.replaceDraft(replacement)

      expect(outcome).toMatchObject({ type: 'replaced', isSettled: true })
      expect(await arranged.raws('INBOX')).toEqual([draftOf('INBOX', 2).raw])
    },
  )

  test('to CREATE is made good by a try that may find the mailbox there', async () => {
    await using arranged = await arrange()
    const creation = { parentKey: null, name: 'Projects', mayExist: false }
    loseAnswer(arranged.proxy, /^CREATE/)
    await using broken = await arranged.connect()
    const failure = await failureOf(broken.changing.createMailbox(creation))
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
    await using again = await arranged.connect()
    const mailbox = await again.changing.createMailbox({ ...creation, mayExist: true })
    expect(mailbox).toMatchObject({ key: 'Projects', path: 'Projects' })
  })

  test('to what only looks leaves nothing changed', async () => {
    await using arranged = await arrange()
    const keys = await arranged.world.deliver(letters(1))
    loseAnswer(arranged.proxy, /^SELECT/)
    await using broken = await arranged.connect()
    const at = { source: 'INBOX', cursor: null, keys }
    const failure = await failureOf(all(broken.changing.changeFlags(at, { isRead: true })))
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
  })
})

describe('a message that is added', () => {
  test('is certainly not there if the connection breaks before its end', async () => {
    await using arranged = await arrange()
    const { proxy } = arranged
    await using account = await arranged.connect()
    const ended = Promise.withResolvers<void>()
    const { message } = draftOf('INBOX', 1)
    const adding = account.changing.addMessage('INBOX', {
      ...message,
      async *open() {
        yield Buffer.from('Subject: ')
        proxy.cutAll()
        await ended.promise
      },
    })
    expect(await failureOf(adding)).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
    ended.resolve()
    expect(await arranged.raws('INBOX')).toEqual([])
  })

  test('is refused with the words of the server', async () => {
    await using arranged = await arrange({
      refusedCommands: [/^APPEND/],
      refusal: 'NO [OVERQUOTA] Quota exceeded',
    })
    await using account = await arranged.connect()
    const adding = account.changing.addMessage('INBOX', draftOf('INBOX', 1).message)
    const failure = await failureOf(adding)
    expect(failure).toMatchObject({ kind: 'rejected', isBeforeAcceptance: true })
    expect(failure.message).toContain('Quota exceeded')
    // The connection goes on.
    expect(await account.changing.find('INBOX', '<x@example.com>')).toEqual([])
  })

  test('is not sent to a server that takes only smaller ones', async () => {
    await using arranged = await arrange({
      rewrite: line => line.replace(/CAPABILITY IMAP4rev1/i, 'CAPABILITY IMAP4rev1 APPENDLIMIT=20'),
    })
    await using account = await arranged.connect()
    expect(account.changing.messageBytesMax).toBe(20)
    const adding = account.changing.addMessage('INBOX', draftOf('INBOX', 1).message)
    expect(await failureOf(adding)).toMatchObject({ kind: 'rejected', isBeforeAcceptance: true })
    expect(arranged.proxy.stats.commands.get('APPEND')).toBeUndefined()
  })
})

describe('a draft that is replaced', () => {
  /** Another client removes the new content as soon as the server has taken it. */
  function removeAfterAppend({ proxy, world, uids }: Awaited<ReturnType<typeof arrange>>) {
    let isTaken = false
    const removeNewest = async () => {
      const [newest] = (await uids('INBOX')).toReversed()
      await world.expunge('INBOX', [newest!])
    }
    proxy.faults = {
      rewrite(line) {
        isTaken ||= TAGGED.test(line) && proxy.stats.lines.at(-1)?.startsWith('APPEND') === true
        return line
      },
      hold() {
        if (!isTaken) return undefined
        proxy.faults = {}
        return removeNewest()
      },
    }
  }

  test('is lost if the server has neither the new nor the old content', async () => {
    await using arranged = await arrange()
    await using account = await arranged.connect()
    const former = { source: 'INBOX', cursor: null, key: 1 }
    const replacement = { ...draftOf('INBOX', 2), former, draftKey: null, others: [] }
    removeAfterAppend(arranged)

    expect(await account.changing.replaceDraft(replacement)).toEqual({ type: 'lost' })

    const recreated = await account.changing.replaceDraft(replacement)
    expect(recreated).toMatchObject({ type: 'replaced', isSettled: true })
    expect(await arranged.raws('INBOX')).toEqual([draftOf('INBOX', 2).raw])
  })

  test('keeps the old content if the server does not have the new one', async () => {
    await using arranged = await arrange()
    await using account = await arranged.connect()
    await account.changing.addDraft(draftOf('INBOX', 1), true)
    removeAfterAppend(arranged)
    const replacing = account.changing.replaceDraft({
      ...draftOf('INBOX', 2),
      former: null,
      draftKey: null,
      others: [],
    })

    expect(await failureOf(replacing)).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
    expect(await arranged.raws('INBOX')).toEqual([draftOf('INBOX', 1).raw])
  })
})

describe('what a server does not keep', () => {
  test('is refused before anything is changed', async () => {
    await using arranged = await arrange({
      rewrite: line => line.replace(/\[PERMANENTFLAGS .*\\\*\)\]/, '[PERMANENTFLAGS (\\Seen \\Deleted)]'),
    })
    const keys = await arranged.world.deliver(letters(1))
    await using account = await arranged.connect()
    const at = { source: 'INBOX', cursor: null, keys }
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
    const removing = all(account.changing.remove({ source: 'INBOX', cursor: null, keys }))
    expect(await failureOf(removing)).toMatchObject({ kind: 'forbidden', isBeforeAcceptance: true })
  })
})

describe('answers that lie or are missing', () => {
  test('flags are asked for if STORE does not tell them', async () => {
    await using arranged = await arrange()
    const { proxy } = arranged
    proxy.faults = {
      rewrite: line =>
        / FETCH /.test(line) && proxy.stats.lines.at(-1)?.startsWith('UID STORE') ? null : line,
    }
    const keys = await arranged.world.deliver(letters(3))
    await using account = await arranged.connect()
    const at = { source: 'INBOX', cursor: null, keys }
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
    const [batch] = await all(account.changing.move({ source: 'INBOX', cursor: null, keys }, 'Kept'))
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

describe('a mark beside those of another client', () => {
  const at = (keys: number[]) => ({ source: 'INBOX', cursor: null, keys })

  test('is made again where the server tells once what was before', async () => {
    await using arranged = await arrange()
    const keys = await arranged.world.deliver(letters(300))
    await using account = await arranged.connect()
    sayBefore(arranged.proxy, /^UID STORE/, [`* 1 FETCH (UID ${keys[0]} FLAGS ())`])

    const batches = await all(account.changing.changeFlags(at(keys), { isRead: true }))

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
      for await (const batch of account.changing.changeFlags(at(keys), { isRead: true }))
        changed.push(...batch.changed)
    }
    expect(await failureOf(change())).toMatchObject({ kind: 'conflict' })
    expect(changed.filter(({ flags }) => flags.isRead).map(({ key }) => key)).toEqual(keys.slice(1))
  })
})

describe('a server that tells late which messages left', () => {
  /** Shows the messages until the next NOOP after the command. */
  function tellLate({ proxy }: { proxy: ChaosProxy }, command: RegExp, keys: readonly number[]): void {
    const untold: string[] = []
    proxy.faults = {
      hiddenCodes: ['COPYUID'],
      rewrite(line) {
        const last = proxy.stats.lines.at(-1) ?? ''
        if (command.test(last) && /^\* (?:\d+ EXPUNGE|VANISHED)/.test(line)) {
          untold.push(line)
          return null
        }
        if (untold.length === 0) return line
        if (last === 'NOOP' && TAGGED.test(line)) return [...untold.splice(0), line].join('\r\n')
        return line.replace(/^(\* ESEARCH .*\bUID\b).*/, `$1 ALL ${keys.join(',')}`)
      },
    }
  }

  test('has moved them, wherever they are', async () => {
    await using arranged = await arrange()
    await arranged.world.createMailbox('Kept')
    const keys = await arranged.world.deliver(letters(3))
    await using account = await arranged.connect()
    tellLate(arranged, /^UID MOVE/, keys)

    const batches = await all(account.changing.move({ source: 'INBOX', cursor: null, keys }, 'Kept'))

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

    const batches = await all(account.changing.remove({ source: 'INBOX', cursor: null, keys }))

    expect(batches).toEqual([{ removed: keys, gone: [] }])
    expect(await arranged.uids('INBOX')).toEqual([])
  })
})

describe('a list of mailboxes', () => {
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
