import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { logging, startDaemon } from './daemon.ts'
import type { DavTestServer } from './dav-test-server.ts'
import { requireProgram } from './install.ts'
import { makeUpName } from './mail-server.ts'

const run = promisify(execFile)

const REALM = 'SabreDAV'

/** Creates the tables, and each further call a user. */
const ADMIN = `<?php
$db = new PDO('sqlite:' . $argv[1]);
$db->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
if ($argc === 2) {
  foreach (['addressbooks', 'calendars', 'principals', 'users'] as $name)
    $db->exec(file_get_contents("/usr/share/doc/php-sabre-dav/examples/sql/sqlite.$name.sql"));
} else {
  list(, , $user, $digest) = $argv;
  $db->prepare('INSERT INTO users (username, digesta1) VALUES (?, ?)')->execute([$user, $digest]);
  $db->prepare('INSERT INTO principals (uri, displayname) VALUES (?, ?)')->execute(["principals/$user", $user]);
}
`

/** An old server with Digest only, and with tags of collections instead of tokens. */
const SERVER = `<?php
error_reporting(E_ALL & ~E_DEPRECATED);
date_default_timezone_set('UTC');
$db = new PDO('sqlite:' . __DIR__ . '/db.sqlite');
$db->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
require_once 'Sabre/autoload.php';
$auth = new Sabre\\DAV\\Auth\\Backend\\PDO($db);
$principals = new Sabre\\DAVACL\\PrincipalBackend\\PDO($db);
$server = new Sabre\\DAV\\Server([
  new Sabre\\DAVACL\\PrincipalCollection($principals),
  new Sabre\\CardDAV\\AddressBookRoot($principals, new Sabre\\CardDAV\\Backend\\PDO($db)),
  new Sabre\\CalDAV\\CalendarRootNode($principals, new Sabre\\CalDAV\\Backend\\PDO($db)),
]);
$server->setBaseUri('/');
$server->addPlugin(new Sabre\\DAV\\Auth\\Plugin($auth, '${REALM}'));
$server->addPlugin(new Sabre\\CardDAV\\Plugin());
$server->addPlugin(new Sabre\\CalDAV\\Plugin());
$server->addPlugin(new Sabre\\DAVACL\\Plugin());
$server->exec();
`

/** Starts a sabre/dav 1.8 of its own on a free loopback port, in the server that PHP has for development. */
export async function startSabre(): Promise<DavTestServer> {
  const command = requireProgram('php')
  const daemon = await startDaemon({
    name: 'sabre',
    portCount: 1,
    isSilent: true,
    async prepare(folder, [port = 0]) {
      await writeFile(join(folder, 'server.php'), SERVER)
      await writeFile(join(folder, 'admin.php'), ADMIN)
      await run(command, [join(folder, 'admin.php'), join(folder, 'db.sqlite')])
      const args = ['-S', `127.0.0.1:${port}`, join(folder, 'server.php')]
      return logging(join(folder, 'sabre.log'), command, args)
    },
  })
  const { folder } = daemon
  return {
    kind: 'sabre',
    url: new URL(`http://127.0.0.1:${daemon.ports[0]}/`),
    async addUser() {
      const name = makeUpName()
      const user = { user: name, password: `secret of ${name}`, email: `${name}@dav.test` }
      const digest = createHash('md5').update(`${name}:${REALM}:${user.password}`).digest('hex')
      await run(command, [join(folder, 'admin.php'), join(folder, 'db.sqlite'), name, digest])
      return { ...user, homePath: `/addressbooks/${name}/`, calendarHomePath: `/calendars/${name}/` }
    },
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}
