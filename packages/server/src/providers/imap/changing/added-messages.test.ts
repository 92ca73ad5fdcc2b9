import { describe, expect, test } from 'vitest'
import { openProxiedMailbox, type ProxiedMailbox, TAGGED } from '../../../../test/changing/proxied-mailbox.ts'
import type { Faults } from '../../../../test/servers/chaos-faults.ts'
import { startDovecot } from '../../../../test/servers/dovecot.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'
import { letters } from '../../conformance/arrangement.ts'
import { draftOf } from '../../conformance/changing-messages.ts'
import { failureOf } from '../../conformance/changing-steps.ts'

const server = useServer(() => startDovecot())
const arrange = (faults?: Faults) => openProxiedMailbox(server(), faults)

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
  function removeAfterAppend({ proxy, world, uids }: ProxiedMailbox) {
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
    const replacement = { ...draftOf('INBOX', 2), former, draftKey: null, others: [], copies: [] }
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
      copies: [],
    })

    expect(await failureOf(replacing)).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
    expect(await arranged.raws('INBOX')).toEqual([draftOf('INBOX', 1).raw])
  })
})

describe('a message found in a mailbox', () => {
  const raws = letters(4).map(({ raw }) => raw)
  const known = { former: null, draftKey: null, internetMessageId: '<draft@example.com>' }

  /** A mailbox `Made`, which another client then renames, to make another one with other messages under the same UIDs. */
  async function arrangeMade() {
    const arranged = await arrange()
    const { world, proxy } = arranged
    await world.createMailbox('Made')
    const replaceMade = async () => {
      await world.renameMailbox('Made', 'Other')
      await world.createMailbox('Made')
      await world.deliver(letters(4), 'Made')
    }
    /** Does so as soon as the mailbox is to be opened for a change. */
    const replaceAtChange = () => {
      proxy.faults = {
        hold(words) {
          if (!/ SELECT /.test(words)) return undefined
          proxy.faults = {}
          return replaceMade()
        },
      }
    }
    return { arranged, replaceMade, replaceAtChange }
  }

  test('is not removed from another one of that name when a draft is replaced', async () => {
    const { arranged, replaceAtChange } = await arrangeMade()
    await using _ = arranged
    await using account = await arranged.connect()
    await account.changing.addDraft(draftOf('Made', 1), true)
    replaceAtChange()

    const replacement = { ...draftOf('Made', 2), former: null, draftKey: null, others: [], copies: [] }
    const outcome = await account.changing.replaceDraft(replacement)

    expect(outcome).toMatchObject({ type: 'replaced', isSettled: false })
    expect(await arranged.raws('Made')).toEqual(raws)
    expect(await arranged.raws('Other')).toEqual([draftOf('Made', 1).raw, draftOf('Made', 2).raw])
  })

  test('is not removed from another one of that name when a draft is settled', async () => {
    const { arranged, replaceAtChange } = await arrangeMade()
    await using _ = arranged
    await arranged.world.deliver([draftOf('Made', 1), draftOf('Made', 2)], 'Made')
    await using account = await arranged.connect()
    replaceAtChange()

    const { mark, message } = draftOf('Made', 2)
    const named = {
      mailboxKey: 'Made',
      draftId: mark.draftId,
      internetMessageId: message.internetMessageId,
      copies: [],
    }
    const settling = account.changing.settleDraft(named)

    expect(await failureOf(settling)).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
    expect(await arranged.raws('Made')).toEqual(raws)
  })

  test('is not removed from another one of that name with a draft', async () => {
    const { arranged, replaceMade } = await arrangeMade()
    await using _ = arranged
    await arranged.world.deliver([draftOf('Made', 1), draftOf('Made', 2)], 'Made')
    await using account = await arranged.connect()
    const found = await account.changing.findDraft({ ...known, mailboxKey: 'Made' }, [])
    expect(found).toHaveLength(2)
    await replaceMade()

    await using later = await arranged.connect()
    const removing = later.changing.removeDraft({ ...known, mailboxKey: 'Made', others: found })

    expect(await failureOf(removing)).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
    expect(await arranged.raws('Made')).toEqual(raws)
  })
})
