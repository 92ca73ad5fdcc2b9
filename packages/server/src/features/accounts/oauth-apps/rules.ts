import type { GmailPush } from '@waxwing/contract/accounts/oauth-apps.ts'
import type { OAuthProvider } from '@waxwing/contract/shapes.ts'
import { signInAbilitiesOf } from '../../../providers/abilities.ts'
import type { ClientCredential, Cloud, SignInPlace, SignIns } from '../../../providers/sign-in.ts'
import { refuse } from '../../../calls/refuse.ts'
import { cloudOf } from './choose-app.ts'
import { type GivenCredential, readCredential } from './credential.ts'

/** Fields of an app that a request gives. */
export interface GivenApp extends GivenCredential {
  provider: OAuthProvider
  /** Undefined or null: none is named. */
  cloud?: Cloud | null | undefined
  scopes?: string[] | null | undefined
  gmailPush?: GmailPush | null | undefined
}

/**
 * Refuses fields that an app of the provider cannot have: options of the other provider, and scopes that read no mail.
 */
export function requireFitting(app: GivenApp, signIns: SignIns, base: { isPublic: boolean }): void {
  const { name, defaultCloud, takesCertificates, publishesToTopics } = signInAbilitiesOf(app.provider)
  const hasCertificate = app.certificate !== undefined || app.privateKey !== undefined
  if ((defaultCloud === null && app.cloud != null) || (!takesCertificates && hasCertificate))
    refuse('not_microsoft')
  if (app.gmailPush && !publishesToTopics) refuse('gmail_push_unsupported')
  if (app.scopes) {
    const cloud = cloudOf(app.provider, app.cloud ?? null)
    requireMailScope({ provider: app.provider, cloud }, app.scopes, signIns)
  }
  if (app.gmailPush && !base.isPublic) {
    refuse('push_unavailable', undefined, {
      message: `${name} can push only to a public https address. Ask the operator to set the base URL to one.`,
    })
  }
}

/** Refuses an app without a good credential. */
export function requireCredential(app: GivenApp): ClientCredential {
  return readCredential(app, new Date()) ?? refuse('credential_missing')
}

function requireMailScope(place: SignInPlace, scopes: readonly string[], signIns: SignIns): void {
  if (signIns.at(place)?.readsMail(scopes) !== false) return
  const message = 'must have a scope that reads mail'
  refuse('invalid_input', { issues: [{ path: ['scopes'], message }] })
}
