import { isDeepStrictEqual } from 'node:util'
import {
  type HeldPosition,
  recordMailboxes,
  recordUnfiled,
  recordUnlabelled,
  recordVanishedMailboxes,
} from '../mailboxes/record.ts'
import { listIndexedMailboxes } from '../mailboxes/store.ts'
import { type IndexedMailbox, isSettled, type MailboxPlan, planMailboxes } from '../mailboxes/rules.ts'
import { remoteIdsOf } from '../messages/location.ts'
import { recordDeleted, recordLost } from '../messages/record-missing.ts'
import { recordStates } from '../messages/record-states.ts'
import type { FollowedSource, PlacedMailbox } from '../messages/rules.ts'
import { type MailboxRole, roleOf } from '../../../providers/mailbox-role.ts'
import type { Cursor, RemoteMailbox } from '../../../providers/mail.ts'
import { beginLook } from '../../../accounts/halves/progress.ts'
import { ChangedMeanwhile, mailboxesOf, type Session, underFence } from './session.ts'
import { listMissing } from './source-store.ts'

/** The most lists of one pass, if names come or go in each of them. */
const LISTS_MAX = 4
const LOST_PER_TRANSACTION = 500
const LABELLED_PER_TRANSACTION = 500
const UNFILED_PER_TRANSACTION = 2_000
const LOCATED_AT_ONCE = 100
/** The source that is named for lasting ids, which need none. */
const NO_SOURCE: FollowedSource = { source: '', mailboxes: [] }

/** A source, and the mailboxes that are filled from it as the provider lists them. */
export interface RemoteSource extends FollowedSource {
  remotes: readonly RemoteMailbox[]
}

export interface MailboxPass {
  /** In the order in which they are read: inbox first, junk and trash last. */
  sources: RemoteSource[]
  /** The cursor of each source when the mailboxes were listed. */
  cursors: ReadonlyMap<string, Cursor | null>
  vanished: IndexedMailbox[]
}

/**
 * Lists the provider's mailboxes and updates the index to match.
 * @param indexed as the index has them; read before, so that nothing that the interface changes meanwhile is overlooked
 */
export async function passMailboxes(
  session: Session,
  indexed: readonly IndexedMailbox[],
): Promise<MailboxPass> {
  const plan = await planPass(session, indexed)
  session.progressed()
  let rows = plan.kept.map(kept => kept.indexed)
  if (!isSettled(plan)) {
    await underFence(session, async (unit, account) => {
      const now = await listIndexedMailboxes(unit.sql, account.id)
      if (!isSameIndex(indexed, now)) throw new ChangedMeanwhile()
      await recordMailboxes(unit, account, plan)
    })
    rows = await listIndexedMailboxes(session.db, session.owned.id)
  }
  await missVanished(session, plan.vanished)
  session.mailboxes = new Map(
    rows.map(({ id, provider_key: key, role }) => [key, { id, key, role: roleOf(role) }]),
  )
  const remotes = [...plan.kept.map(({ remote }) => remote), ...plan.created]
  const sources = sourcesOf(remotes, session.mailboxes)
  const doubted = plan.others?.map(({ source }) => source ?? '') ?? []
  session.doubts.forgetUnlisted(new Set([...sources.map(({ source }) => source), ...doubted]))
  return {
    sources: sources.toSorted((a, b) => urgency(a) - urgency(b)),
    cursors: new Map(rows.flatMap(({ source, cursor }) => (source === null ? [] : [[source, cursor]]))),
    vanished: plan.vanished,
  }
}

/** Before anything arrives: it may be a message of a folder that vanished. A pass that ended early begins again. */
async function missVanished(session: Session, vanished: readonly IndexedMailbox[]): Promise<void> {
  const folderIds = vanished.flatMap(({ id, kind }) => (kind === 'folder' ? [id] : []))
  if (folderIds.length === 0) return
  let after: HeldPosition | null = null
  do {
    const page: Parameters<typeof recordUnfiled>[3] = { after, limit: UNFILED_PER_TRANSACTION }
    after = await underFence(session, (unit, account) => recordUnfiled(unit, account, folderIds, page))
    session.progressed()
  } while (after !== null)
}

function sourcesOf(
  remotes: readonly RemoteMailbox[],
  mailboxes: ReadonlyMap<string, PlacedMailbox>,
): RemoteSource[] {
  return [...Map.groupBy(remotes, ({ source }) => source)].flatMap(([source, filled]) => {
    const placed = filled.flatMap(({ key }) => mailboxes.get(key) ?? [])
    return source === null || placed.length === 0 ? [] : [{ source, mailboxes: placed, remotes: filled }]
  })
}

/** Whether the interface has left the mailboxes alone since they were read. Only the sync writes cursors and counts. */
function isSameIndex(before: readonly IndexedMailbox[], now: readonly IndexedMailbox[]): boolean {
  const facts = (mailboxes: readonly IndexedMailbox[]) =>
    mailboxes.map(({ cursor: _cursor, ...mailbox }) => mailbox)
  return isDeepStrictEqual(facts(before), facts(now))
}

/**
 * Lists the mailboxes, and lists them again while names come or go: a list that is made beside a rename may show a mailbox
 * by both of its names, or by neither, and would cost the messages in it their places.
 */
async function planPass(session: Session, indexed: readonly IndexedMailbox[]): Promise<MailboxPlan> {
  const { provider } = session
  const list = async () => {
    const remotes = await provider.listMailboxes()
    return planMailboxes(indexed, remotes, (remote, cursor) => provider.isRenamed(remote, cursor))
  }
  let plan = await list()
  for (let lists = 1; lists < LISTS_MAX && mayBeTorn(plan); lists++) {
    const before = keysOf(plan)
    plan = await list()
    if (isDeepStrictEqual(keysOf(plan), before)) break
  }
  return withoutDoubted(session, plan)
}

/**
 * Leaves a mailbox alone that the list lacks although the provider answers to its key, until that has lasted, and another
 * connection lacks it, too: a session of Dovecot that meets a broken index of mailboxes may list a part of them until it ends.
 */
async function withoutDoubted({ provider, doubts }: Session, plan: MailboxPlan): Promise<MailboxPlan> {
  const listed = keysOf(plan)
  if (doubts.count > 0) for (const { remote } of plan.kept) doubts.forget(`listing ${remote.source}`)
  const vanished: IndexedMailbox[] = []
  const others: IndexedMailbox[] = []
  for (const mailbox of plan.vanished) {
    const { is_deleted: isDeleted, source, provider_key: key } = mailbox
    const mayAnswer = !isDeleted && source !== null && !listed.has(key)
    const isDoubted =
      mayAnswer &&
      (await provider.answersTo?.(key)) &&
      !doubts.believesOverAnother(`listing ${source}`, provider)
    if (isDoubted) others.push(mailbox)
    else vanished.push(mailbox)
  }
  return { ...plan, vanished, others }
}

/** Whether names have come or gone. In the first list of an account, all are new. */
function mayBeTorn({ kept, created, vanished }: MailboxPlan): boolean {
  return (created.length > 0 && kept.length > 0) || vanished.some(({ is_deleted }) => !is_deleted)
}

function keysOf({ kept, created }: MailboxPlan): Set<string> {
  return new Set([...kept.map(({ remote }) => remote), ...created].map(({ key }) => key))
}

const URGENCY: readonly MailboxRole[] = [
  'inbox',
  'sent',
  'drafts',
  'important',
  'custom',
  'archive',
  'all',
  'junk',
  'trash',
]

function urgency({ mailboxes }: RemoteSource): number {
  return Math.min(...mailboxes.map(({ role }) => URGENCY.indexOf(role)))
}

/**
 * Deletes missing messages that turned up nowhere, and the mailboxes that vanished with them.
 * @param look messages that were missing before this look are deleted. `held` if that is not certain: then only the
 *   ones that have been missing for a minute. `none` if they may be in a part that was not read yet
 */
export async function settleMissing(
  session: Session,
  vanished: readonly IndexedMailbox[],
  look: number | 'held' | 'none',
): Promise<void> {
  await locateMissing(session, { isCertain: typeof look === 'number' })
  if (look !== 'none') await deleteLost(session, look === 'held' ? session.looks.findHeld() : look)
  if (vanished.length > 0) await settleVanished(session, vanished)
}

async function deleteLost(session: Session, missingBefore: number): Promise<void> {
  for (let lost = LOST_PER_TRANSACTION; lost === LOST_PER_TRANSACTION;) {
    lost = await underFence(session, async (unit, account) =>
      account.hasMissing ? recordLost(unit, account, missingBefore, LOST_PER_TRANSACTION) : 0,
    )
    session.progressed()
  }
}

async function settleVanished(session: Session, vanished: readonly IndexedMailbox[]): Promise<void> {
  const labelIds = vanished.flatMap(({ id, kind }) => (kind === 'label' ? [id] : []))
  for (let taken = LABELLED_PER_TRANSACTION; labelIds.length > 0 && taken === LABELLED_PER_TRANSACTION;) {
    taken = await underFence(session, (unit, account) =>
      recordUnlabelled(unit, account, labelIds, LABELLED_PER_TRANSACTION),
    )
    session.progressed()
  }
  await underFence(session, (unit, account) => recordVanishedMailboxes(unit, account, vanished))
}

/**
 * Looks up missing messages with lasting ids at the provider: messages that it has elsewhere are placed there, and
 * messages that it lacks are deleted. The next pass looks up the others again.
 * @param isCertain whether nothing is left to be read that may bring other contents of drafts
 */
async function locateMissing(session: Session, { isCertain }: { isCertain: boolean }): Promise<void> {
  const unanswered: string[] = []
  for (;;) {
    const keys = await listMissing(session.db, session.owned.id, unanswered, LOCATED_AT_ONCE)
    if (keys.length === 0) return
    const { found, gone, drafts = [], unreadable } = await session.provider.locate(null, keys)
    session.progressed()
    const placed = [...found].map(([key, { flags, mailboxKeys }]) => ({
      key,
      flags,
      mailboxes: mailboxesOf(session, mailboxKeys),
    }))
    await underFence(session, async (unit, account) => {
      await recordStates(unit, account, NO_SOURCE, placed)
      await recordDeleted(unit, account, remoteIdsOf(gone), { contents: drafts, areRead: isCertain })
    })
    // Drafts that are left alone stay missing until their content is read.
    unanswered.push(...remoteIdsOf(gone), ...unreadable.map(({ key }) => String(key)))
  }
}

/** @returns the number of the look that begins */
export async function startLook({ db, owned, looks }: Session): Promise<number> {
  const look = await beginLook(db, owned, 'mail')
  looks.began(look)
  return look
}
