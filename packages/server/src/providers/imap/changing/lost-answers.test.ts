import { describe, expect, test } from 'vitest'
import { openProxiedMailbox, TAGGED } from '../../../../test/changing/proxied-mailbox.ts'
import { BARE_SERVER, type Faults } from '../../../../test/servers/chaos-faults.ts'
import type { ChaosProxy } from '../../../../test/servers/chaos-proxy.ts'
import { startDovecot } from '../../../../test/servers/dovecot.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'
import { letter, letters } from '../../conformance/arrangement.ts'
import { draftOf } from '../../conformance/changing-messages.ts'
import { all, failureOf } from '../../conformance/changing-steps.ts'

const server = useServer(() => startDovecot())
const arrange = (faults?: Faults) => openProxiedMailbox(server(), faults)

const WITHOUT_MOVE: Faults = { hiddenCapabilities: ['MOVE'] }

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
    const at = await arranged.inInbox(keys.slice(0, 2))
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
      const replacement = { ...draftOf('INBOX', 2), former: null, draftKey: null, others: [], copies: [] }
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

  test('to a command that only reads leaves nothing changed', async () => {
    await using arranged = await arrange()
    const keys = await arranged.world.deliver(letters(1))
    loseAnswer(arranged.proxy, /^SELECT/)
    await using broken = await arranged.connect()
    const at = await arranged.inInbox(keys)
    const failure = await failureOf(all(broken.changing.changeFlags(at, { isRead: true })))
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
  })
})
