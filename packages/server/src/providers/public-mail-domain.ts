import { findByDomain } from './autoconfig/known-providers.ts'

/** Others at which anybody can have an address, and that have no servers for mail programs, or other ones. */
const OTHERS: ReadonlySet<string> = new Set(
  (
    'proton.me protonmail.com protonmail.ch pm.me tutanota.com tutanota.de tutamail.com tuta.com tuta.io keemail.me ' +
    'hushmail.com hey.com duck.com mailfence.com mailinator.com guerrillamail.com yopmail.com ' +
    'inbox.lv seznam.cz email.cz post.cz centrum.cz azet.sk wp.pl o2.pl onet.pl interia.pl op.pl abv.bg mail.bg ukr.net ' +
    'libero.it virgilio.it alice.it tiscali.it tin.it sfr.fr neuf.fr bbox.fr gmx.fr gmx.es gmx.it bluewin.ch ' +
    'naver.com daum.net hanmail.net nate.com sina.com sina.cn sohu.com yeah.net 139.com 189.cn rediffmail.com ' +
    'uol.com.br bol.com.br terra.com.br ig.com.br att.net verizon.net cox.net charter.net sbcglobal.net bellsouth.net ' +
    'earthlink.net btinternet.com sky.com virginmedia.com talktalk.net bigpond.com optusnet.com.au shaw.ca rogers.com ' +
    'telenet.be skynet.be ziggo.nl kpnmail.nl xs4all.nl home.nl online.no telia.com arcor.de'
  ).split(' '),
)

/** Whether anybody can have an address in a domain, so that sharing it says nothing about people. */
export function isPublicMailDomain(domain: string): boolean {
  return findByDomain(domain) !== null || OTHERS.has(domain)
}
