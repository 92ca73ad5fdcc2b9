import { type LinkSettings, planLinkBase } from '../../kit/link-base.ts'
import { type Finding, ok, warning } from './finding.ts'

/** Whether recipients of messages reach the links in them. */
export function checkLinks(config: LinkSettings): Finding {
  const base = planLinkBase(config)
  const isPlayed = base?.isPlayed ?? config.sandboxUrl !== null
  if (isPlayed) return ok('links', 'On this machine, for the people of the sandbox.')
  if (!base?.isPublic)
    return ok(
      'links',
      'No public address: opens and clicks are not tracked, and sends cannot name a suppression list. ' +
        'Set WAXWING_LINKS_URL, or WAXWING_BASE_URL to an https URL, if that is wanted.',
    )
  const { url, isHttps, ownHost } = base
  if (!isHttps)
    return warning(
      'links',
      `${url} is not HTTPS: links of messages can be read on the network, and sends cannot name a suppression list.`,
      'Put an HTTPS proxy in front, and set WAXWING_LINKS_URL to its address.',
    )
  return ok('links', ownHost === null ? url : `${url}, a host that serves nothing else.`)
}
