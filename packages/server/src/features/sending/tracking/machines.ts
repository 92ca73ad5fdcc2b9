import { isWithin, parseAddress, parseRange } from '../../../kit/egress/address.ts'

/** Signs of a machine in a single request: mail is fetched before anybody reads it, or examined. */
export type MachineSign = 'prefetch' | 'scanner'

interface Machine {
  name: string
  sign: MachineSign
  userAgent?: RegExp
  ranges?: readonly string[]
  /** The place where it is documented, or was observed and published. */
  source: string
}

/**
 * Programs and networks that are known to fetch images and links of mail without a person. Programs that fetch only
 * when a person opens a message, such as the image proxies of Gmail and Yahoo, are not among them.
 */
export const MACHINES: readonly Machine[] = [
  {
    name: 'Apple Mail Privacy Protection',
    sign: 'prefetch',
    // The proxies send nothing else; every browser sends more.
    userAgent: /^Mozilla\/5\.0$/,
    source: 'help.socketlabs.com/docs/identifying-apple-mpp-opens-in-notification-api-events',
  },
  {
    name: 'Gmail, images of mail that is not opened yet',
    sign: 'prefetch',
    userAgent: /Chrome\/42\.0\.2311\.135 Safari\/537\.36 Edge\/12\.246 Mozilla\/5\.0$/,
    source: 'sparkpost.com/blog/gmail-prefetching-images',
  },
  {
    name: 'Previews of links in chats and mail',
    sign: 'prefetch',
    userAgent:
      /SkypeUriPreview|BingPreview|Slackbot|Slack-ImgProxy|facebookexternalhit|WhatsApp\/|TelegramBot|Discordbot|LinkedInBot|Twitterbot/i,
    source: 'the pages of these services that their user agents name',
  },
  {
    name: 'Microsoft Defender, Office',
    sign: 'scanner',
    userAgent: /SafeLinks|Microsoft Office Existence Discovery/i,
    source: 'learn.microsoft.com/defender-office-365/safe-links-about',
  },
  {
    name: 'Barracuda',
    sign: 'scanner',
    userAgent: /barracuda/i,
    ranges: ['209.222.80.0/21'],
    source: 'campus.barracuda.com/product/emailgatewaydefense/doc/96023004',
  },
  {
    name: 'Proofpoint',
    sign: 'scanner',
    userAgent: /proofpoint/i,
    ranges: [
      '62.209.50.0/24',
      '67.231.144.0/20',
      '91.209.104.0/24',
      '208.36.134.0/24',
      '208.84.64.0/22',
      '208.86.200.0/22',
    ],
    source: 'proofpoint.my.site.com/support/PPSup_SupportInfo',
  },
  {
    name: 'Mimecast',
    sign: 'scanner',
    userAgent: /mimecast/i,
    source: 'check.live-direct-marketing.online/blog/bot-clicks-security-scanners-detect',
  },
  {
    name: 'Other gateways that name themselves',
    sign: 'scanner',
    userAgent: /CiscoSecureEmail|IronPort|TrendMicro|TMES|FortiMail|FortiGuard|Sophos|F-Secure|BitDefender/i,
    source: 'check.live-direct-marketing.online/blog/bot-clicks-security-scanners-detect',
  },
  {
    name: 'Robots and programs that are no browser',
    sign: 'scanner',
    userAgent:
      /bot\b|crawl|spider|scanner|HeadlessChrome|PhantomJS|^(?:curl|wget|python|go-http-client|java|okhttp|axios|node|ruby|perl|libwww|apache-httpclient)\b/i,
    source: 'RFC 9110 section 10.1.5: the product that sends the request',
  },
]

/**
 * Proxies that fetch images when a person opens a message. A request that comes too soon after the delivery is no
 * person's.
 */
const IMAGE_PROXY = /GoogleImageProxy|YahooMailProxy/

export function isImageProxy(userAgent: string | null): boolean {
  return userAgent !== null && IMAGE_PROXY.test(userAgent)
}

const KNOWN = MACHINES.map(({ sign, userAgent, ranges = [] }) => ({
  sign,
  userAgent,
  ranges: ranges.map(parseRange).filter(range => range !== null),
}))

/** The program that a request reveals; null if it may be a person's. */
export function findSign(request: {
  userAgent: string | null
  address: string | null
  /** `Sec-Purpose` or `Purpose`, by which browsers mark requests in advance. */
  purpose: string | null
}): MachineSign | null {
  const { purpose } = request
  if (purpose !== null && /prefetch|preview|prerender/i.test(purpose)) return 'prefetch'
  const userAgent = request.userAgent?.trim() ?? ''
  // Every browser and mail program names itself.
  if (userAgent === '') return 'scanner'
  const address = request.address === null ? null : parseAddress(request.address)
  const known = KNOWN.find(
    machine =>
      machine.userAgent?.test(userAgent) ||
      (address !== null && machine.ranges.some(range => isWithin(address, range))),
  )
  return known?.sign ?? null
}
