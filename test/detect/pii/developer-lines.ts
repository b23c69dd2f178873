// Lists lines of developers' text by kind. Holes in braces are filled at random, see
// developer-texts.ts. No filled line contains personal data.

/** Lines of one kind of text, and what precedes them once. */
export interface DeveloperKind {
  readonly head?: string
  readonly lines: readonly string[]
}

export const DEVELOPER_LINES: Readonly<Record<string, DeveloperKind>> = {
  'compiler log': {
    lines: [
      "src/{w}/{f}({d2},{d2}): error TS{d4}: Property '{p}' does not exist on type '{P}{W}'.",
      '[{d2}%] Building CXX object src/CMakeFiles/{p}.dir/{f}.o',
      '/usr/bin/cc -O2 -DSIZE={d8} -DMASK=0x{h8} -c {f} -o {w}.o',
      '{f}:{d3}:{d2}: warning: unused variable `{w}_{w}` [-Wunused-variable]',
      '   text\t   data\t    bss\t    dec\t    hex\tfilename',
      ' {d7}\t  {d5}\t   {d5}\t{d7}\t {h6}\t{p}.o',
      "ld: {w}.o: in function `{p}_{w}': undefined reference to `{w}{P}'",
      'note: call\n{d7} bytes of stack, {d7} of code',
      'webpack 5.{d2}.{d1} compiled in {d5} ms: asset {w}.{h20}.js {d7} bytes',
    ],
  },
  'git log': {
    lines: [
      'commit {h40}\n\n    {c}\n\n {f} | {d3} +++---\n {d2} files changed, {d4} insertions(+), {d4} deletions(-)\n',
      '{d8} {c}\n',
      '{h7} {c}\n{d7} {c}',
      ' {f} | Bin {d7} -> {d7} bytes',
      '{c}\n{d7} {w}',
      'commit {d8}{h32}\n\n    {p}: {w} {p} (#{d4})\n',
      '{d4}\t{d4}\tsrc/{p}/{f}',
    ],
  },
  'word counts': {
    lines: [
      ' {d7} src/{f}\n {d8} total',
      '  {d4}  {d5} {d7} src/{p}/{f}',
      '{d7}\t./{p}/{f}\n{d7}\t./{p}',
      '{d2} {f}\n{d7} {p}',
      '-rw-r--r-- 1 root root {d7} Jan {d2} 12:{d2} {f}',
      '{d7} {p}',
    ],
  },
  'grep output': {
    lines: [
      'src/{f}:{d3}:const {p}Count = {d8}',
      '{f}:{d7}:{p} {w} {p}',
      '{f}-{d4}-  {w}({d7}, {d7}) // {p}',
      '$ rg -n {d9}\n{f}:{d2}:  {w}_id: {d9}',
      '$ grep -rn {p} .\n{d7}:{w}',
      '{f}:{d3}:  if ({p}.length === {d7}) {',
    ],
  },
  'hex dump': {
    lines: [
      '{o7} {h2} {h2} {h2} {h2} {h2} {h2} {h2} {h2} {h2} {h2} {h2} {h2} {h2} {h2} {h2} {h2}',
      '{o6} {d2} {d2} {h2}',
      '00{h6}: {h4} {h4} {h4} {h4} {h4} {h4} {h4} {h4}  ..{p}....',
      '00{h6}  {h2} {h2} {h2} {h2} {h2} {h2} {h2} {h2}  {h2} {h2} {h2} {h2} {h2} {h2} {h2} {h2}  |{p}.{p}.|',
      '{o7} {o6} {o6} {o6} {o6} {o6} {o6} {o6} {o6}',
      '{o7} {d5} {d5} {d5} {d5} {d5} {d5} {d5} {d5}',
      '<Buffer {h2} {h2} {h2} {h2} {h2} {h2} {h2} ... {d2} more bytes>',
      '{d7} {p}.{w}\n{d7} {p}',
    ],
  },
  'numpy arrays': {
    lines: [
      '[[{d3} {d3} {d4}]\n [{d3} {d3} {d4}]\n [{d3}  {d2} {d4}]]',
      'array([[{d7}, {d3}, {d4}],\n       [{d7}, {d7}, {d7}]], dtype=int64)',
      '{w} = np.array([{d7}, {d7}, {d3}, {d4}])',
      ' [{d2}. {d7}. 0.{d5} -{d1}.{d6}e-0{d1}]',
      '>>> {w}.shape\n({d7}, {d3})',
      'tensor([[-0.{d4},  0.{d4}, {d1}.{d4}],\n        [{d4}, {d4}, {d4}]])',
      '{w}       {d7}   {d3} {d3} {d4}\n{w}       {d7}   {d3} {d3} {d4}',
    ],
  },
  geojson: {
    head: '{"type":"FeatureCollection","features":[\n',
    lines: [
      '{"type":"Feature","id":"{p}","properties":{"{w}":{d7},"{p}":"{w}"},"geometry":{"type":"Point","coordinates":[{d2}.{d7},-{d2}.{d7}]}},',
      '[[{d2}.{d6},{d2}.{d6}],[-{d2}.{d6},{d2}.{d6}],[{d2}.{d14},{d2}.{d14}]],',
      '"bbox": [-{d2}.{d4}, {d2}.{d4}, {d2}.{d4}, {d2}.{d4}], "{w}": {d8},',
    ],
  },
  topojson: {
    head: '{"type":"Topology","arcs":\n',
    lines: [
      '{"type":"Polygon","properties":{"{p}":"{p}"},"arcs":[[-{d4},{d4},{d4},{d4},-{d4}]]},',
      '{"type":"MultiPolygon","arcs":[[[{d4},{d4},{d4},{d4}]],[[{d4},-{d4},{d4},{d4},{d4},{d4}]]]},',
      '[[{d4},{d4}],[{d2},-{d2}],[-{d3},{d3}],[{d4},{d4}]],',
    ],
  },
  'cluster log': {
    lines: [
      '08{d4} {d6} {d3} INFO dfs.DataNode$PacketResponder: PacketResponder {d1} for block blk_-{d19} terminating',
      '08{d4} {d6} {d2} INFO dfs.FSNamesystem: BLOCK* NameSystem.allocateBlock: /user/root/{w}/_task_{d12}_{d4}_m_{d6}_0/part-{d5}. blk_{d19}',
      '26/01/{d2} 10:{d2}:{d2} INFO {P}Manager: Found block rdd_{d2}_{d3} locally, {d7} bytes, call {p}',
      '26/01/{d2} 10:{d2}:{d2} INFO TaskSetManager: Finished task {d3}.0 in stage {d2}.0 (TID {d7}) in {d4} ms on executor {d2}',
      '{d13} [{p}-thread-{d2}] INFO {P}{W}: offset={d16} {w}={d19}',
      'INFO mapreduce.Job: Counters: {w}={d8}\n\t\t{P} records={d8}\n\t\t{P} bytes={d10}',
    ],
  },
  'lock file': {
    lines: [
      '  "node_modules/{p}-{w}": {\n    "version": "{d1}.{d2}.{d1}",\n    "resolved": "https://registry.example.com/{w}/-/{w}-{d1}.{d2}.{d1}.tgz",\n    "integrity": "sha512-{b}=="\n  },',
      '"@{w}/{w}@^{d1}.{d1}.{d1}":\n  version "{d1}.{d1}.{d2}"\n  checksum: 10c0/{h64}',
      'name = "{p}-{w}"\nversion = "{d1}.{d2}.{d1}"\nchecksum = "{h64}"',
      'gopkg.example/{p}/{p} v0.0.0-2026{d10}-{h12} h1:{b}=',
    ],
  },
  diff: {
    lines: [
      'diff --git a/src/{f} b/src/{f}\nindex {h7}..{h7} 100644\n--- a/src/{f}\n+++ b/src/{f}\n@@ -{d4},{d2} +{d4},{d2} @@ function {p}{W}() {',
      '-  const {p}{W} = {d8}\n+  const {p}{W} = {d7}',
      '+  {p}_limit: {d7},\n-  {p}_size: {d9},',
      '+    // {p} {w}\n+    {d7},\n+    {d7},',
      ' }\n+#define {P}_OFFSET {d7}\n-#define {P}_MASK 0x{h8}',
    ],
  },
  kubernetes: {
    lines: [
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {w}-{p}\n  uid: {h8}-{h4}-4{h3}-a{h3}-{h12}\n  resourceVersion: "{d9}"\n  generation: {d7}',
      '    - cidr: {net}\n    - 169.254.169.254/32\n    - 10.0.0.0/8',
      '      runAsUser: {d10}\n      fsGroup: {d10}\n      seLinuxOptions: {level: "s0:c{d2},c{d2}"}',
      '  limits: {memory: {d10}, {w}: {d7}}\n  {w}: "{d8}"',
      'data:\n  {w}.json: {b}\n  ca.crt: {b}==',
      '  podCIDR: {net}\n  serviceSubnet: 10.96.0.0/12\n  nameservers: [8.8.8.8, 1.1.1.1]',
    ],
  },
  terraform: {
    lines: [
      'resource "aws_vpc" "{p}" {\n  cidr_block = "{net}"\n  tags = { {w} = "{d9}" }\n}',
      '  cidr_blocks = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "2001:db8:{h4}::/48"]',
      '  default = {d8} # {p}',
      '{w}_id   = "{d9}"\nproject_number = {d10}',
      '  route { cidr_block = "0.0.0.0/0" \n gateway_id = "igw-{h17}" }',
      'aws_instance.{w}: Creation complete after {d2}s [id=i-{h17}]',
    ],
  },
  'ci log': {
    lines: [
      'ci: {d8}\nnode: {d2}\nrun_id: {d9}',
      'exit code from ci: {d8}',
      '{w}: {d10}\ncc: {d10}\nnid: {d10}',
      'tax_id: null\ncreated: 17{d8}',
      'Run #{d10} (attempt 1), job {d11}, step {p}',
      '##[group]Run {w}\n##[debug]ci={d8} cc={d8} nic={d12}',
      '{p} passed in {d5} ms, seed {d10}, ci {d8}',
      'commit: {h7} ci: {p}\n{d8} {p}',
      '"run": {d9}, "sin": {d9}, "uid": {d12}, "pan": "{p}", "iin": {d12}',
      'rg -n {d9}\nid: {d11} tin: {p}\ncni: {d12} spi: {d13}',
    ],
  },
  'minified script': {
    lines: [
      'function ci(e,t){e.flags&={d8};var n=e.alternate;return n}function cc(a){a=a.pendingLanes&-{d10};return a}',
      'var {w}={d7},c={d9},d={d10};function run(a){return a<<{d2}|{d9}}function rut(b){return {d9}}',
      '!function(t){var e={};function n(r){return e[r]||({d7},t[{d7}].call(e,e))}n.nid={d10},n.sin={d9},n.ring={d8}}();',
      '({p}=t.{p}).{w}(({d7}),({d7}),call({d7})),self.card={w}[{d7}],e.phone.length==={d7}',
      '{d7}:function(e,t,n){n.d(t,{{p}:function(){return {w}}})},{d7}:function(e){e.exports=JSON.parse("{}")},',
    ],
  },
  tables: {
    head: 'id,{w},telephone\n',
    lines: [
      '{d7},{d3},{d4}',
      '"telephone",\n{d7},{d4}',
      '{p},{d2},{d7},{w}',
      '{p}\t{d3}\t{d7}\t{d2}.{d3}\t{d8}',
      '{d5};{p};{w};{d7};{d8};{p}',
      '| {p} | {d4} | {d7} | {d9} |',
      '{w},{p}_size,{w}\n{d7},{d8},{d9}',
      '{p}       {d2}    {d7}    {d3}.{d2}',
    ],
  },
  'vector graphics': {
    lines: [
      '<path d="m{d2}.{d1} {d3}.{d2}.{d1}.{d1} {d2}.57-56.8-6.95-8.92-58z" fill="#{h6}"/>',
      '<path d="M{d2} {d3}.{d2}.{d2}.{d2} {d2}.18-48.2-7.34-8.95L46 191.66Z"/>',
      '<path d="M12.{d2} {d1}.{d1}c.{d2}-.{d2}.81-1.23 0 1.06.44h6.{d2}c.{d2}.{d2}.{d2}.{d2}.{d2} 0 2z"/>',
      '<g id="{p}" transform="matrix({d2} 0 0 .{d5} {d3}.8 {d3}.63)"><path fill="#{h6}" d="m{d2} {d3}.66.73.35 72"/></g>',
      '<polygon points="{d3},{d3} {d4},{d3} {d3},{d4} {d2},{d2}" id="{p}"/>',
    ],
  },
  'ssh session': {
    lines: [
      'debug2: ciphers ctos: chacha20-poly1305@openssh.com,aes128-ctr,aes256-gcm@openssh.com',
      'debug2: MACs ctos: umac-64-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha1',
      'KexAlgorithms curve25519-sha256,curve25519-sha256@libssh.org,sntrup761x25519-sha512@openssh.com',
      'HostKeyAlgorithms ssh-ed25519-cert-v01@openssh.com,sk-ssh-ed25519@openssh.com,rsa-sha2-512',
      'debug1: client_input_global_request: rtype hostkeys-00@openssh.com want_reply 0',
      'debug1: Remote: {w}: call {d7} bytes {p}\n{d7} bytes in {d3} s',
      'Ciphers rijndael-cbc@lysator.liu.se,zlib@openssh.com',
    ],
  },
  remotes: {
    lines: [
      'origin\torg-{d7}@github.com:octo-org/{p}.git (fetch)',
      'git@github.com:{w}/{w}.git',
      '{w}\tdeploy@gitlab.com:{w}/{w}.git (push)',
      'url = ssh://git@ssh.github.com:443/{w}/{w}.git',
      'git clone -b {w} --depth 1 org-{d7}@github.com:{w}/{w}',
      "Submodule path '{w}': checked out '{h40}'",
    ],
  },
  'mail headers': {
    lines: [
      'Message-ID: <{d14}.{h8}@mail.{w}.example.net>',
      'Message-Id: <CA+{b20}@mail.gmail.com>',
      'In-Reply-To: <{d14}.GA{d5}@{w}.example.org>',
      'References: <{d14}.{d5}-1-{w}@kernel.org>\n <{d14}.{d5}-2-{w}@kernel.org>',
      'Link: https://lore.kernel.org/r/{d14}.{d5}-1-{w}@kernel.org',
      'Content-ID: <image{d3}.png@{h8}.{h8}>\nX-{W}: {d7}',
    ],
  },
  'routing table': {
    head: 'Destination     Gateway         Genmask         Flags Metric Ref    Use Iface\n',
    lines: [
      '{netb}   0.0.0.0         255.255.255.0   U     {d3}    0        0 eth0',
      'netmask 255.255.{d2}.0 broadcast 255.255.255.255',
      '{net} dev eth{d1} proto kernel scope link',
      '169.254.0.0/16 dev eth0 scope link metric 1000',
      'multicast 224.0.0.0/4 dev eth0\n{net} via link#{d1}',
      'nameserver 8.8.8.8\nnameserver 1.1.1.1\nnameserver 9.9.9.9',
      'curl http://169.254.169.254/latest/meta-data/{w}',
      'joined 224.0.0.251 and 239.255.255.250 and ff02::1 on eth{d1}',
      'access-list {d2} permit {netb} 0.0.0.255',
      'ff00::/8 dev eth0 table local\nfe80::/64 dev eth{d1} proto kernel\n2001:db8:{h4}::/48 dev lo',
    ],
  },
  go: {
    lines: [
      '\tborn, err := time.Parse("2006-01-02", {w})',
      '\tdob.Format("2006-01-02")',
      '\tDateOfBirth string `json:"dob" time_format:"2006-01-02"`',
      '\tconst layout = "2006-01-02T15:04:05Z07:00"',
      '\tlog.Printf("{w} %d {w}", {d7})',
      '\t{w}{W} = {d8} // {w} {w}',
      '\tcase {d7}, {d8}:\n\t\treturn {w}.{W}({d7})',
    ],
  },
  'collation table': {
    lines: [
      '{H4}  ; [.{H4}.0020.0002] # {W} {P}\n{H4}  ; [*{o4}.0020.0004] # CALL {W}',
      '<U{H4}> <U{H4}>;IGNORE;IGNORE;IGNORE # {l14}',
      '{H4} {H4} {H4} {H4} {H4} {H4} {H4}\n{H4} {H4} {d4} {d4} {H4} {d4} {d4} {H4}',
      'N{d4} ; [*03{d2}.0020.0004][.{H4}.0020.0004][*0329.0020.0004] # PARENTHESIZED IDEOGRAPH CALL',
      '# {P} {W}\n{o4} {o4} {o4} ; {H4}',
    ],
  },
  logcat: {
    lines: [
      '03-17 16:13:{d2}.{d3}  {d4}  {d4} D PhoneStatusBar: setSystemUiVisibility vis=400{d5} mask={h8} oldVal=40000500',
      '03-17 16:13:{d2}.{d3}  {d4}  {d4} V WindowManager: Skipping AppWindowToken{{h7} token=Token{{h7} ActivityRecord{{h7} u0 com.{p}/.{P} t{d3}}}}',
      '03-17 16:13:{d2}.{d3}  {d4}  {d4} I CallManager: {w} id {d8} state={d7}',
      '03-17 16:13:{d2}.{d3}  {d4}  {d4} D PowerManagerService: acquire lock={d9}, flags=0x{d1}, tag="{p}", name=com.android.phone, ws=null, uid={d4}, pid={d4}',
      '03-17 16:13:{d2}.{d3}  {d4}  {d4} D TelephonyManager: {w}={d8} count={d7}',
      '03-17 16:13:{d2}.{d3}  {d4}  {d4} I PhoneInterfaceManager: {w} {d8}\n03-17 {w}: {d7}',
    ],
  },
  'stack trace': {
    lines: [
      '    at {p}.{P}{W} (/app/src/{p}/{f}:{d3}:{d2})',
      '  File "/app/{w}/{f}", line {d4}, in {p}_{w}\n    {w}({d7})',
      '\tat com.{p}.{P}$run.call({W}.java:{d4})\n{d7} {w}',
      'goroutine {d7} [running]:\nmain.{p}(0x{h8}, {d7})\n\t/src/{f}:{d3} +0x{h3}',
      '#{d2}  0x0000{h12} in {p}_{p} ({w}={d8}) at {f}:{d4}',
      'call stack, line {d10}\n[<{h16}>] {w}+0x{h2}/0x{h3}',
    ],
  },
  'sql dump': {
    lines: [
      "INSERT INTO `{w}s` VALUES ({d7},'{p}',{d4},NULL,{d10},'2026-01-{d2} 10:{d2}:{d2}'),({d7},'{w}',{d4},NULL,{d10},NULL);",
      "({d8}, '{w} {p}', NULL, {d7}, {d9}, {d2}.{d2}),",
      "CREATE TABLE `{p}` (\n  `{w}` int({d2}) NOT NULL AUTO_INCREMENT\n) ENGINE=InnoDB AUTO_INCREMENT={d8} COMMENT='{p}';",
      "SELECT pg_catalog.setval('{p}_id_seq', {d8}, true);\n-- {p} {w}\n{d8}\t{w}\t{d7}\t\\N",
      '{p} |  {d3} | {d8} | {d9}\n {p} |  {w} | {d8}',
    ],
  },
  metrics: {
    lines: [
      '# HELP {p}_{w}_total Count of {p}\n# TYPE {w}_{w}_total counter\n{p}_{w}_total{{w}="{p}",code="200"} {d8}',
      '{p}_seconds_bucket{le="0.{d2}"} {d7}\n{p}_seconds_sum {d7}.{d6}',
      'process_{p}_bytes {d9}\n{p}_last_seen 1.7{d8}e+09 17{d11}',
      '{p}:{w}:rate5m {d7} 17{d8}\n{p}_calls_total {d8}\ncalls_{w} {d7}',
      '{"{w}": {d7}, "{p}Count": {d8}, "p99": {d4}, "{p}_ns": {d16}}',
    ],
  },
  links: {
    lines: [
      'https://docs.google.com/spreadsheets/d/1{b20}SS-{b20}/edit#gid={d9}',
      'https://example.com/{p}/{d9}?{w}={d8}&page={d3}&{w}={d10}',
      '[{d7}](https://example.com/{w}/commit/{h40})',
      '* fix type error for {p} call ([{d7}](https://example.com/{w}/commit/{d7}{h33}))',
      'https://ci.example.com/{w}/job/{w}/{d7}/console?pan={d9}&ssn={p}#L{d7}',
      'https://example.com/ss-{b20}?ss={w}#gid={d9}',
    ],
  },
  layouts: {
    lines: [
      '<string name="{p}_{w}">{p} {w}</string>\n<integer name="{p}_max">{d7}</integer>',
      '<item android:id="@+id/{p}_{w}" android:layout_width="{d3}dp" android:icon="@drawable/{p}"/>',
      '<public type="string" name="{w}" id="0x7f{d6}" />',
      '<dimen name="{w}">{d7}</dimen> <color>{d8}</color>',
      '<w:tab w:pos="{d7}"/><w:gridCol w:w="{d4}"/><w:{w} w:val="{d8}"/>',
      '<cell type="{w}">\n  <v>{d7}</v><v>{d8}</v>\n</cell>',
    ],
  },
  fixtures: {
    lines: [
      '  {"id": {d9}, "{w}": "{p}", "{p}_count": {d7}, "size": {d8}, "created": 17{d8}},',
      '  expect({w}.{w}({d7})).toBe({d8})\n  expect(phone.length === {d7}).toBe(false)',
      '  assert {w}(a={d8}, b={d9}) == {d10}',
      '[section {d3}]\n{w}={p}\n{w}={d8}\n',
      '  [22.{d1}.{d1}.{d1}] {p} {w}\n  // 2{d1}.1.{d1}.{d1}: {w} {w}\n  see 2{d1}.{d1}.{d1}.{d1}/{d2}',
      '{p}: ~\n{w}s:\n  - {d7}\n  - {d8}',
      'const {w} = [\n  {d4}, {d4}, {d4}, {d4},\n  {d4}, {d4}, {d4}, {d4},\n]',
    ],
  },
}
