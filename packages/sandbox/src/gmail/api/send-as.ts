import type { SendAs } from '../mailbox/mailbox.ts'
import { stringIn } from '../../google/api/input.ts'
import { MAIL, MODIFY, READONLY, SETTINGS, SHARING, type GmailMethod, type MethodCall } from './method.ts'
import { conflict, failedPrecondition, invalidArgument, notFound } from '../../google/api/refusal.ts'
import type { Shape } from '../../google/api/shape.ts'
import { SHAPES } from './shapes.ts'

const READ = [MAIL, MODIFY, READONLY, SETTINGS]
const one = {
  path: 'settings/sendAs/{sendAsEmail}',
  body: SHAPES.sendAs as Shape,
  answer: SHAPES.sendAs,
} as const

export const sendAsMethods: readonly GmailMethod[] = [
  {
    id: 'settings.sendAs.list',
    http: 'GET',
    path: 'settings/sendAs',
    scopes: READ,
    answer: SHAPES.sendAsList,
    run: ({ mailbox }) => ({ sendAs: [...mailbox.sendAs.values()].map(present) }),
  },
  {
    id: 'settings.sendAs.get',
    http: 'GET',
    path: 'settings/sendAs/{sendAsEmail}',
    scopes: READ,
    answer: SHAPES.sendAs,
    run: call => present(requireSendAs(call)),
  },
  {
    id: 'settings.sendAs.create',
    http: 'POST',
    ...one,
    path: 'settings/sendAs',
    scopes: [SHARING],
    run: create,
  },
  { id: 'settings.sendAs.update', http: 'PUT', ...one, scopes: [SETTINGS, SHARING], run: change },
  { id: 'settings.sendAs.patch', http: 'PATCH', ...one, scopes: [SETTINGS, SHARING], run: change },
  { id: 'settings.sendAs.delete', http: 'DELETE', path: one.path, scopes: [SHARING], run: remove },
  {
    id: 'settings.sendAs.verify',
    http: 'POST',
    path: `${one.path}/verify`,
    scopes: [SHARING],
    run: call => void requireSendAs(call),
  },
]

function requireSendAs({ mailbox, params }: MethodCall): SendAs {
  const alias = mailbox.sendAs.get((params.sendAsEmail as string).toLowerCase())
  if (!alias) throw notFound()
  return alias
}

/** Gmail leaves out what is false, and the state of the address that needs none. */
function present({ isPrimary, isDefault, treatAsAlias, verificationStatus, ...alias }: SendAs): object {
  return {
    ...alias,
    ...(isPrimary ? { isPrimary } : { treatAsAlias, verificationStatus }),
    ...(isDefault && { isDefault }),
  }
}

/** An address of the user's own domain needs no proof. */
function create({ mailbox, body }: MethodCall): object {
  const email = stringIn(body, 'sendAsEmail')?.toLowerCase()
  if (!email || !/^[^\s@]+@[^\s@]+$/.test(email)) throw invalidArgument('Invalid sendAsEmail')
  if (mailbox.sendAs.has(email)) throw conflict('Alias already exists')
  const own = email.split('@')[1] === mailbox.email.split('@')[1]
  const alias: SendAs = {
    sendAsEmail: email,
    displayName: stringIn(body, 'displayName') ?? '',
    replyToAddress: stringIn(body, 'replyToAddress') ?? '',
    signature: stringIn(body, 'signature') ?? '',
    isPrimary: false,
    isDefault: false,
    treatAsAlias: body.treatAsAlias === true,
    verificationStatus: own ? 'accepted' : 'pending',
  }
  mailbox.sendAs.set(email, alias)
  if (body.isDefault === true) makeDefault(mailbox.sendAs.values(), alias)
  return present(alias)
}

function change(call: MethodCall): object {
  const alias = requireSendAs(call)
  for (const field of ['displayName', 'replyToAddress', 'signature'] as const)
    alias[field] = stringIn(call.body, field) ?? alias[field]
  if (!alias.isPrimary && typeof call.body.treatAsAlias === 'boolean')
    alias.treatAsAlias = call.body.treatAsAlias
  if (call.body.isDefault === true) makeDefault(call.mailbox.sendAs.values(), alias)
  return present(alias)
}

function makeDefault(all: Iterable<SendAs>, alias: SendAs): void {
  if (alias.verificationStatus !== 'accepted') throw failedPrecondition('Send-as alias is not verified')
  for (const other of all) other.isDefault = other === alias
}

function remove(call: MethodCall): void {
  const alias = requireSendAs(call)
  if (alias.isPrimary) throw invalidArgument('Cannot delete the primary send-as address')
  call.mailbox.sendAs.delete(alias.sendAsEmail)
  if (alias.isDefault)
    makeDefault(call.mailbox.sendAs.values(), call.mailbox.sendAs.get(call.mailbox.email) as SendAs)
}
