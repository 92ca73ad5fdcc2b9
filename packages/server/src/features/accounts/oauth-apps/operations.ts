import { isDeepStrictEqual } from 'node:util'
import { implement } from '@orpc/server'
import { oauthApps } from '@waxwing/contract/accounts/oauth-apps.ts'
import { newId } from '../../../kit/ids.ts'
import { isPublicBase } from '../../../kit/link-base.ts'
import type { SignIns } from '../../../providers/sign-in.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { presentApp } from './present.ts'
import { type AppChange, recordApp, recordChangedApp, removeApp } from './record.ts'
import { restartAccountsOf } from './restart.ts'
import { requireCredential, requireFitting } from './rules.ts'
import { cloudOf } from './choose-app.ts'
import { readCredential, storedCredential } from './credential.ts'
import type { AppSecrets } from '../../../accounts/apps/secrets.ts'
import { findCountedApp, listApps, lockApp } from '../../../accounts/apps/store.ts'

export interface AppServices {
  secrets: AppSecrets
  signIns: SignIns
  /** The address of the service. */
  baseUrl(): string
  /** Whether a sandbox plays the providers: it pushes to any address. */
  isPlayed: boolean
}

const on = implement(oauthApps).$context<RequestContext>()

export function oauthAppOperations({ secrets, signIns, baseUrl, isPlayed }: AppServices) {
  const base = () => ({ isPublic: isPlayed || isPublicBase(baseUrl()) })
  return {
    list: on.list.handler(async ({ context }) => {
      const rows = await listApps(context.db, context.tenantId)
      return { items: rows.map(row => presentApp(row, baseUrl())) }
    }),

    create: on.create.handler(async ({ input: { body }, context }) => {
      const { provider, name, clientId, scopes = null, gmailPush = null } = body
      requireFitting(body, signIns, base())
      const credential = requireCredential(body)
      const cloud = cloudOf(provider, body.cloud ?? null)
      return context.change(async unit => {
        const id = newId()
        const stored = storedCredential(secrets, { id, tenantId: unit.tenantId }, credential)
        const app = { id, provider, cloud, name, clientId, scopes, gmailPush, ...stored }
        return presentApp(await recordApp(unit, app), baseUrl())
      })
    }),

    get: on.get.handler(async ({ input: { params }, context }) => {
      const row = await findCountedApp(context.db, context.tenantId, params.appId)
      return presentApp(row ?? refuse('oauth_app_not_found'), baseUrl())
    }),

    update: on.update.handler(async ({ input: { params, body }, context }) =>
      context.change(async unit => {
        const before = (await lockApp(unit, params.appId)) ?? refuse('oauth_app_not_found')
        requireFitting({ ...body, provider: before.provider, cloud: before.cloud }, signIns, base())
        const { name, scopes, gmailPush } = body
        const credential = readCredential(body, new Date())
        const change: AppChange = {
          ...(name !== undefined && { name }),
          ...(credential && { credential: storedCredential(secrets, before, credential) }),
          ...(scopes !== undefined && { scopes }),
          ...(gmailPush !== undefined && { gmailPush }),
        }
        const after = await recordChangedApp(unit, before, change)
        const isPushChanged = !isDeepStrictEqual(after.gmailPush, before.gmailPush)
        const which = isPushChanged ? 'all' : 'misconfigured'
        if (credential || isPushChanged) {
          for (const accountId of await restartAccountsOf(unit, before.id, which)) unit.wake(accountId)
        }
        return presentApp(after, baseUrl())
      }),
    ),

    delete: on.delete.handler(async ({ input: { params }, context }) =>
      context.change(async unit => {
        await removeApp(unit, (await lockApp(unit, params.appId)) ?? refuse('oauth_app_not_found'))
        return null
      }),
    ),
  }
}
