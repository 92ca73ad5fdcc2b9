import { expect, test } from 'vitest'
import { tablesWith } from '../database-text.ts'
import { storedTokens } from '../tokens/stored-tokens.ts'
import { CLOUD_NAMES, newIn, useMicrosoft, USERS } from './use-microsoft.ts'

const at = useMicrosoft()

test.each(CLOUD_NAMES)(
  'a flow in the cloud %s leaves no secret in any table, log line or answer',
  async cloud => {
    const { token } = await at.world.createLink(newIn(cloud))
    const begun = await at.world.begin(token)
    const { redirectUrl } = await at.sandbox.authorize(begun.authorizeUrl, USERS[cloud])
    const end = await at.world.comeBack(begun, redirectUrl)
    expect(end).toMatchObject({ outcome: 'returned', url: expect.stringContaining('account_id=') })
    const [account] = await at.accounts()
    const { accessToken, refreshToken } = await storedTokens(at.app, account!.id)
    const sent = new URL(begun.authorizeUrl).searchParams
    const came = new URL(redirectUrl).searchParams
    expect(sent.get('code_challenge_method')).toBe('S256')
    const audit = await at.tenant.get('/v1/audit-log')
    const said = [...at.app.logLines, JSON.stringify([end, account, audit.body])].join('')
    const secrets = [
      token,
      sent.get('state'),
      sent.get('nonce'),
      came.get('code'),
      ...begun.cookie.split('.'),
      accessToken,
      refreshToken,
      `secret-${cloud}`,
    ]
    for (const secret of secrets) {
      expect(secret?.length).toBeGreaterThan(9)
      expect(await tablesWith(at.app.db, secret ?? '')).toEqual([])
      expect(said).not.toContain(secret)
    }
  },
)
